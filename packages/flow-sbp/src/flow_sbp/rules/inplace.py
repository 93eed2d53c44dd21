"""Where the arguments of in-place ops must lie: as their targets do. A target itself is never moved."""

from flow_sbp.layout import Layout


def whole(layout):
    """The layout of the same tensor with B on every axis."""
    return Layout(layout.shape, layout.dtype, layout.placement, ["B"] * len(layout.placement.axes))


def copy_(x, src):
    """A source lies as its target, parts included. ValueError for a number, which is the value and no part of it, into parts."""
    if src is None and x.partials:
        raise ValueError(f"copy_: {x} is partial, so no part of it is the number to store: lay it out as B or S first")
    return [x, None if src is None else as_target(src, x, x.partials)]


def mul_(x, factor):
    """A factor is split as its target, and whole where that holds addends, so that each of them is scaled alike."""
    if any(op != "sum" for _, op in x.partials):
        raise ValueError(
            f"mul_: {x} is partial in a kind that a factor does not go through: lay it out as B or S first"
        )
    return [x, None if factor is None else as_target(factor, x, ())]


def as_target(src, x, partials):
    """The layout of `src`, which broadcasts to `x`, that gives each rank what goes into its part of x."""
    lead = len(x.shape) - len(src.shape)
    same = [d for d, n in enumerate(src.shape) if n == x.shape[lead + d]]
    splits = [x.splits[lead + d] if d in same else () for d in range(len(src.shape))]
    sizes = {d: x.sizes[lead + d] for d in same if lead + d in x.sizes}
    return Layout.by_dim(src.shape, src.dtype, x.placement, splits, partials, sizes)


def adamw_(*args):
    """A gradient lies as its parameter; the scalars are whole. ValueError for a partial parameter, and for a state that lies otherwise."""
    n = (len(args) - 3) // 4
    params, states, scalars = args[:n], args[n : 3 * n], args[4 * n :]
    for p, state in zip([*params, *params], states, strict=True):
        if p.partials:
            raise ValueError(
                f"adamw_: parameter {p} is partial; an update of parts is no update of the value: lay it out as B or S first"
            )
        if state != p:
            raise ValueError(f"adamw_: the state of parameter {p} lies as {state}; make it with zeros_like(parameter)")
    return [*params * 4, *[None if s is None else whole(s) for s in scalars]]


def put_at_(x, src, *ids):
    """Everything whole: an index names places in all of the target. ValueError for a target that is split or partial."""
    if x != whole(x):
        raise ValueError(
            f"put_at_: {x} is not whole on every rank, and an index names places in all of it: lay it out as B"
        )
    return [whole(a) for a in (x, src, *ids)]


TARGETS = {"copy_": copy_, "mul_": mul_, "adamw_": adamw_, "put_at_": put_at_}
