"""Boxing many tensors at once: those whose parts add up along the same axes travel in one message a rank, not in one each."""

import numpy as np

import flow_core as flow
from flow_sbp.boxing import plan
from flow_sbp.execute import execute
from flow_sbp.global_tensor.tensor import make
from flow_sbp.global_tensor.watch import moving
from flow_sbp.layout import Layout
from flow_sbp.placement import Placement


def box_many(tensors, layouts):
    """The tensors laid out by `layouts`, a list; the bytes and the bits are those of boxing each alone. No gradient flows through.

    Meant for gradients, of which there are as many as parameters, most of them small.
    """
    out, together = [None] * len(tensors), {}
    for i, (t, layout) in enumerate(zip(tensors, layouts, strict=True)):
        if t.shard is not None and adds_up(t, layout):
            axes = tuple(axis for axis, _ in t.layout.partials)
            together.setdefault((t.placement, axes, t.layout.dtype), []).append(i)
        else:
            out[i] = t.detach().to_global(layout=layout)
    for (placement, axes, dtype), places in together.items():
        some = [tensors[i] for i in places]
        for i, t, array in zip(
            places, some, added([t.shard.data for t in some], placement, axes, dtype, some[0].comm), strict=True
        ):
            out[i] = make(flow.from_numpy(array), t.spec, layouts[i], t.comm)
    return out


def adds_up(t, layout):
    """True if all that `layout` asks for is that parts be added, so that each rank's shard keeps its shape."""
    src = t.layout
    sums = src.partials and all(op == "sum" for _, op in src.partials)
    return (
        sums
        and not layout.partials
        and (src.placement, src.bounds, src.splits) == (layout.placement, layout.bounds, layout.splits)
    )


def added(arrays, placement, axes, dtype, comm):
    """The arrays, each the sum over the ranks that differ from this one along `axes` alone."""
    peers = next(group for group in placement.groups(*axes) if comm.rank in group)
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    mesh = Placement(list(peers), ("peers",))
    step = plan(Layout(flat.shape, dtype, mesh, ["P"]), Layout(flat.shape, dtype, mesh, ["B"]))
    moving("box_many", 0, step, asked=True)
    total = execute(step, flat, comm, check=False)
    pieces = np.split(total, np.cumsum([a.size for a in arrays])[:-1])
    return [piece.reshape(a.shape) for piece, a in zip(pieces, arrays, strict=True)]
