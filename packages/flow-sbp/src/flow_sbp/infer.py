"""`infer`: given how an op's inputs lie, the signature that costs the fewest bytes, and the plans to get there."""

from dataclasses import dataclass
from functools import lru_cache

from flow_sbp.bound import lower_bound
from flow_sbp.boxing import plan
from flow_sbp.dtype import dtype_of
from flow_sbp.layout import Layout
from flow_sbp.plan import Plan
from flow_sbp.reduction import refusal
from flow_sbp.sbp import Partial, Split
from flow_sbp.signature import Signature, bind, mesh_signatures


@dataclass(frozen=True, eq=False)
class Choice:
    """How to run an op on layouts: box each input by its plan, run the op on the shards; `outputs` are the results'."""

    signature: Signature
    # over all axes of the mesh
    inputs: tuple[Layout, ...]
    # how the inputs must lie
    outputs: tuple[Layout, ...]
    # how the outputs then lie
    plans: tuple[Plan | None, ...]
    # per input; None where it lies right already

    @property
    def bytes_on_wire(self):
        """What the plans send together."""
        return sum(plan.bytes_on_wire for plan in self.plans if plan)


@lru_cache(maxsize=4096)
def infer(rule, layouts, dtypes=None):
    """The Choice for a rule and its inputs' layouts (a tuple); `dtypes` of the outputs, else all as the first input's.

    Of the signatures with the fewest bytes, the one that boxes the fewest inputs; then the first in the rule's order.
    Orders of axes and explicit sizes are taken over from the largest input that already splits a factor by the same
    axes. ValueError when placements differ or shapes do not fit the rule.
    """
    mesh = one_placement(layouts)
    shapes = tuple(layout.shape for layout in layouts)
    bound = bind(rule, shapes)
    best, costs = None, {}
    for number, row in enumerate(mesh_signatures(rule, shapes, len(mesh.axes))):
        if any(has_no_parts(layout, sbps) for layout, sbps in zip(layouts, row.inputs, strict=True)):
            continue
        pieces = _pieces(bound, layouts, row)
        targets = tuple(
            _layout(layout.shape, layout.dtype, mesh, sbp, dims, pieces)
            for layout, sbp, dims in zip(layouts, row.inputs, bound.inputs, strict=True)
        )
        cost = 0
        for pair in zip(layouts, targets, strict=True):
            if pair not in costs:
                costs[pair] = lower_bound(*pair)  # which plans reach, and which is quicker to tell
            cost += costs[pair]
            if best and cost > best[0][0]:
                break
        num_moved = sum(src != dst for src, dst in zip(layouts, targets, strict=True))
        if best is None or (cost, num_moved, number) < best[0]:
            best = (cost, num_moved, number), row, targets, pieces
        if cost == num_moved == 0:
            break
    _, row, targets, pieces = best
    dtypes = dtypes or (layouts[0].dtype,) * len(bound.outputs)
    outputs = tuple(
        _layout(shape, dtype, mesh, sbp, dims, pieces)
        for shape, dtype, sbp, dims in zip(bound.output_shapes, dtypes, row.outputs, bound.outputs, strict=True)
    )
    plans = tuple(None if src == dst else plan(src, dst) for src, dst in zip(layouts, targets, strict=True))
    return Choice(row, targets, outputs, plans)


def one_placement(layouts):
    """The placement of all the layouts; ValueError if they lie on several."""
    placements = {layout.placement for layout in layouts}
    if len(placements) != 1:
        raise ValueError(
            f"an op runs on one placement, its inputs lie on {len(placements)}: {', '.join(map(repr, layouts))}; "
            f"box them to one of these first"
        )
    return layouts[0].placement


def has_no_parts(layout, sbps):
    """True if one of `sbps` is a partial kind that the layout's dtype lacks, as a sum of bools."""
    return any(isinstance(one, Partial) and refusal(one.op, dtype_of(layout.dtype)) for one in sbps)


def _pieces(bound, layouts, row):
    """{factor: (axes in order, sizes or None)} for the factors that the row splits, alike in all tensors."""
    mesh, pieces = layouts[0].placement, {}
    for dims, sbps in zip(bound.inputs, row.inputs, strict=True):
        for dim, name in enumerate(dims):
            axes = tuple(axis for axis, sbp in zip(mesh.axes, sbps, strict=True) if sbp == Split(dim))
            if axes:
                pieces[name] = axes, None
    by_size = sorted(zip(bound.inputs, layouts, strict=True), key=lambda pair: pair[1].nbytes)
    for dims, layout in by_size:  # the largest comes last and wins
        for dim, name in enumerate(dims):
            if name in pieces and set(layout.splits[dim]) == set(pieces[name][0]):
                pieces[name] = layout.splits[dim], layout.sizes.get(dim)
    return pieces


def _layout(shape, dtype, mesh, sbps, dims, pieces):
    splits, sizes = [() for _ in shape], {}
    for sbp in sbps:
        if isinstance(sbp, Split):
            axes, explicit = pieces[dims[sbp.dim]]
            splits[sbp.dim] = axes
            if explicit is not None:
                sizes[sbp.dim] = explicit
    partials = [(axis, sbp.op) for axis, sbp in zip(mesh.axes, sbps, strict=True) if isinstance(sbp, Partial)]
    return Layout.by_dim(shape, dtype, mesh, splits, partials, sizes)
