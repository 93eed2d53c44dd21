"""The ways into global tensors: from the logical value, from each rank's part, and from nothing."""

import numpy as np

import flow_core as flow
from flow_core.dtype import as_dtype
from flow_core.spec import TensorSpec
from flow_sbp.comm import CONTROL
from flow_sbp.dtype import dtype_of
from flow_sbp.global_tensor.tensor import make
from flow_sbp.global_tensor.world import current_comm
from flow_sbp.layout import Layout
from flow_sbp.shards import part_of

PART_BYTES = 256  # a dtype's name, a shape and whether it requires grad, as text
LOSES_GRAD = "requires grad, which would not flow back through a global tensor: call x.detach() first"


def distribute(value, placement, sbp, *, comm=None):
    """The global tensor of a logical value that every rank has whole (a plain tensor or an array): each takes its part.

    Nothing is sent. A partial axis holds the value on its first rank and the neutral element on the others. ValueError for a value
    that requires grad.
    """
    comm = comm or current_comm()
    if not isinstance(value, flow.Tensor):
        value = flow.tensor(value)
    if value.requires_grad:
        raise ValueError(f"distribute: the value {LOSES_GRAD}")
    layout = Layout(value.shape, str(value.dtype), placement, sbp)
    shard = flow.from_numpy(part_of(value.numpy(), layout, comm.rank)) if comm.rank in placement else None
    return make(shard, value.spec, layout, comm)


def from_shards(shard, placement, sbp, *, shape=None, comm=None):
    """The global tensor of which each rank of the placement gives its part, a plain tensor or an array.

    Without `shape` it is worked out from all parts, which the ranks tell each other: sizes along a split dim add up, and need not be
    balanced. Every rank raises the same ValueError if the parts do not fit together, or if one requires grad.
    """
    comm = comm or current_comm()
    if comm.rank not in placement:
        raise ValueError(f"from_shards: rank {comm.rank} is not in {placement!r}; only its ranks call this")
    if not isinstance(shard, flow.Tensor):
        shard = flow.tensor(shard)
    layout = assembled(gather_parts(shard, placement, comm), placement, sbp, shape)
    return make(shard, TensorSpec(layout.shape, shard.dtype), layout, comm)


def global_tensor(shard, layout, comm):
    """The global tensor of a layout of which this rank of it holds `shard`, a plain tensor. ValueError if that does not fit."""
    if shard.shape != layout.local_shape(comm.rank) or dtype_of(str(shard.dtype)).name != layout.dtype:
        raise ValueError(
            f"global_tensor: rank {comm.rank} gives {shard.spec}, {layout} has shape {layout.local_shape(comm.rank)} here"
        )
    return make(shard, TensorSpec(layout.shape, shard.dtype), layout, comm)


def absent(layout, *, comm=None):
    """The handle of a global tensor on a rank outside its placement, which holds nothing of it but takes part in moving it here."""
    comm = comm or current_comm()
    if comm.rank in layout.placement:
        raise ValueError(f"absent: rank {comm.rank} is in {layout.placement!r} and must give its shard of {layout}")
    dtype = as_dtype("bfloat16" if layout.dtype == "bf16" else dtype_of(layout.dtype).words)
    return make(None, TensorSpec(layout.shape, dtype), layout, comm)


def gather_parts(shard, placement, comm):
    """{rank: (shape, dtype name, whether it requires grad)} of every rank's part, told by each to each."""
    note = f"{shard.dtype}:{','.join(map(str, shard.shape))}:{shard.requires_grad}"
    mine = np.frombuffer(note.encode().ljust(PART_BYTES), np.uint8)
    others = [rank for rank in placement.ranks if rank != comm.rank]
    notes = {rank: np.zeros(PART_BYTES, np.uint8) for rank in others}
    requests = [comm.irecv(note, rank, CONTROL) for rank, note in notes.items()]
    requests += [comm.isend(mine, rank, CONTROL) for rank in others]
    for request in requests:
        request.wait()
    notes[comm.rank] = mine
    texts = {rank: notes[rank].tobytes().decode().strip().split(":") for rank in placement.ranks}
    return {
        rank: (tuple(int(n) for n in sizes.split(",") if n), dtype, grad == "True")
        for rank, (dtype, sizes, grad) in texts.items()
    }


def assembled(parts, placement, sbp, shape):
    """The layout that the parts make up; ValueError, alike on every rank, if they make up none."""
    ranks = placement.ranks
    first, dtype, _ = parts[ranks[0]]
    for rank, (sizes, kind, grad) in parts.items():
        if grad:
            raise ValueError(f"from_shards: the part of rank {rank} {LOSES_GRAD}")
        if len(sizes) != len(first) or kind != dtype:
            raise ValueError(
                f"from_shards: rank {rank} gives {kind} of shape {sizes}, rank {ranks[0]} {dtype} of shape {first}"
            )
    plain = Layout(first, dtype, placement, sbp)
    sizes = {}
    for dim, axes in enumerate(plain.splits):
        if axes:
            # Of the ranks that hold a piece, the first tells its size; the others are checked against it below.
            groups = placement.groups(*axes)
            sizes[dim] = tuple(parts[rank][0][dim] for rank in groups[0])
    whole = [sum(sizes[dim]) if dim in sizes else n for dim, n in enumerate(first)]
    layout = Layout(whole, dtype, placement, sbp, sizes=sizes)
    for rank, (held, *_) in parts.items():
        if held != layout.local_shape(rank):
            raise ValueError(
                f"from_shards: rank {rank} gives shape {held}, beside the others' it must be {layout.local_shape(rank)} ({layout})"
            )
    if shape is not None and tuple(shape) != layout.shape:
        raise ValueError(f"from_shards: the parts make up shape {layout.shape}, not {tuple(shape)}")
    return layout


def full(shape, fill_value, placement, sbp, *, dtype=flow.float32, comm=None):
    """A global tensor with every element `fill_value`."""
    return from_windows(
        lambda size, window: flow.full(shape=size, fill_value=fill_value, dtype=dtype),
        shape,
        dtype,
        placement,
        sbp,
        comm,
    )


def zeros(shape, placement, sbp, *, dtype=flow.float32, comm=None):
    """Zeros."""
    return full(shape, 0, placement, sbp, dtype=dtype, comm=comm)


def ones(shape, placement, sbp, *, dtype=flow.float32, comm=None):
    """Ones."""
    return full(shape, 1, placement, sbp, dtype=dtype, comm=comm)


def rand(shape, placement, sbp, *, dtype=flow.float32, generator=None, comm=None):
    """Uniform numbers in [0, 1): those of flow.rand of the same generator, whatever the layout."""
    call = (generator or flow.default_generator).next_call()
    return from_windows(
        lambda size, window: flow.uniform(*call, shape=size, dtype=dtype, window=window),
        shape,
        dtype,
        placement,
        sbp,
        comm,
    )


def randn(shape, placement, sbp, *, dtype=flow.float32, generator=None, comm=None):
    """Numbers of the standard normal distribution: those of flow.randn of the same generator, whatever the layout."""
    call = (generator or flow.default_generator).next_call()
    return from_windows(
        lambda size, window: flow.OPS["normal"](*call, shape=size, dtype=dtype, window=window),
        shape,
        dtype,
        placement,
        sbp,
        comm,
    )


def from_windows(draw, shape, dtype, placement, sbp, comm):
    """The global tensor whose parts are draw(local shape, (global shape, starts)). ValueError for a partial layout."""
    comm = comm or current_comm()
    layout = Layout(shape, str(dtype), placement, sbp)
    if layout.partials:
        raise ValueError(f"a new tensor cannot be partial ({layout}): make it B or S, then to_global(sbp=...)")
    shard = None
    if comm.rank in placement:
        slices = layout.local_slices(comm.rank)
        shard = draw(layout.local_shape(comm.rank), (layout.shape, tuple(s.start for s in slices)))
    return make(shard, TensorSpec(layout.shape, dtype), layout, comm)
