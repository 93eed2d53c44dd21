"""From a value to what each rank holds, and back.

A partial axis holds the value on its first rank and the kind's neutral element on the others.
"""

import math

import numpy as np

from flow_sbp.dtype import dtype_of, words_of
from flow_sbp.layout import check_layout
from flow_sbp.reduction import Fold, neutral


def shard(value, layout):
    """What each rank holds of `value`, a list in the placement's order; every shard is a contiguous copy of its own.

    value: an array of layout.shape and layout.dtype (bf16: uint16 words, or ml_dtypes' array, which the shards then
    are too). ValueError / TypeError if its shape or dtype is another one.
    """
    check_layout("layout", layout)
    return [part_of(value, layout, rank) for rank in layout.placement.ranks]


def part_of(value, layout, rank):
    """What one rank holds of `value`; see `shard`."""
    value = np.asarray(value)
    dtype = dtype_of(layout.dtype)
    words = words_of(value, dtype)
    if words.shape != layout.shape:
        raise ValueError(f"the layout {layout} is for shape {layout.shape}, the value has shape {words.shape}")
    piece = words[(*layout.local_slices(rank), ...)]
    op = _idle_kind(layout, rank)
    out = piece.copy() if op is None else np.full(piece.shape, neutral(op, dtype), dtype.words)
    return np.ascontiguousarray(out).reshape(piece.shape).view(value.dtype)


def assemble(shards, layout, *, check_replicas=False):
    """The value that the shards (in the placement's order) stand for.

    Partial parts are combined in f32 (f64 for f64, integers exactly) in the placement's order and rounded once. Of
    copies the first is taken; check_replicas=True compares them all. ValueError / TypeError names the rank whose
    shard does not fit.
    """
    check_layout("layout", layout)
    ranks = layout.placement.ranks
    dtype = dtype_of(layout.dtype)
    if len(shards) != len(ranks):
        raise ValueError(f"{layout.placement!r} has {len(ranks)} ranks, got {len(shards)} shards")
    words = {rank: check_shard(piece, layout, rank) for rank, piece in zip(ranks, shards, strict=True)}
    if check_replicas:
        _compare_replicas(words, layout)
    value = np.empty(layout.shape, dtype.words)
    runs = tuple((op, _count(layout, axes)) for op, axes in layout.partial_runs)
    copies = layout.placement.groups(*layout.broadcast_axes)
    firsts = {group[0] for group in copies}
    for group in layout.placement.groups(*(axis for axis, _ in layout.partials)):
        if group[0] not in firsts:
            continue
        out = value[(*layout.local_slices(group[0]), ...)]
        if not runs:
            out[...] = words[group[0]]
            continue
        fold = Fold(runs, out, dtype)
        for rank in group:
            fold.add(words[rank])
    given = np.asarray(shards[0]).dtype
    return value.view(given)


def check_shard(piece, layout, rank):
    """The shard as words, if it is what the layout says that this rank holds; otherwise ValueError or TypeError."""
    try:
        words = words_of(piece, dtype_of(layout.dtype))
    except TypeError as error:
        raise TypeError(f"the shard of rank {rank} in {layout}: {error}") from None
    if words.shape != layout.local_shape(rank):
        raise ValueError(
            f"in {layout} rank {rank} holds a shard of shape {layout.local_shape(rank)}, got {words.shape}; "
            f"if the pieces are not balanced, give the layout their sizes"
        )
    return words


def _count(layout, axes):
    return math.prod(layout.placement.axis_size(axis) for axis in axes)


def _idle_kind(layout, rank):
    """None on a rank that holds the value; else the kind whose neutral element it holds: the innermost not first."""
    coordinates = dict(zip(layout.placement.axes, layout.placement.coordinates(rank), strict=True))
    for op, axes in reversed(layout.partial_runs):
        if any(coordinates[axis] for axis in axes):
            return op
    return None


def _compare_replicas(words, layout):
    for group in layout.placement.groups(*layout.broadcast_axes):
        first = words[group[0]]
        for rank in group[1:]:
            if first.tobytes() != words[rank].tobytes():
                differ = int(np.count_nonzero(first != words[rank]))
                raise ValueError(
                    f"in {layout} ranks {group[0]} and {rank} hold copies, but {differ} of {first.size} elements differ"
                )
