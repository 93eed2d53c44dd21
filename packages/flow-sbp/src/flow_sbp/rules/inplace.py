"""Where the arguments of in-place ops must lie: as their targets do. A target itself is never moved."""

from flow_sbp.layout import Layout


def whole(layout):
    """The layout of the same tensor with B on every axis."""
    return Layout(layout.shape, layout.dtype, layout.placement, ["B"] * len(layout.placement.axes))


def copy_(x, src):
    """A source of the target's shape lies as it does; one that broadcasts is whole."""
    return [x, None if src is None else as_target(src, x)]


def mul_(x, factor):
    """As copy_, but the factor of parts is whole, so that each part is scaled alike."""
    if factor is None:
        return [x, None]
    return [x, whole(factor) if x.partials else as_target(factor, x)]


def as_target(src, x):
    if src.shape != x.shape:
        return whole(src)
    return Layout.by_dim(x.shape, src.dtype, x.placement, x.splits, x.partials, x.sizes)


def adamw_(*args):
    """State and gradient lie as their parameter; the scalars are whole. ValueError for a partial parameter."""
    n = (len(args) - 3) // 4
    params, scalars = args[:n], args[4 * n :]
    for p in params:
        if p.partials:
            raise ValueError(
                f"adamw_: parameter {p} is partial; an update of parts is no update of the value: lay it out as B or S first"
            )
    return [*params * 4, *[None if s is None else whole(s) for s in scalars]]


TARGETS = {"copy_": copy_, "mul_": mul_, "adamw_": adamw_}
