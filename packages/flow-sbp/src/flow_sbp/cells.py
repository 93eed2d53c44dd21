"""A transition cut into cells: boxes of the global tensor that the same ranks hold and the same ranks need."""

import math
from dataclasses import dataclass

import numpy as np

from flow_sbp.layout import check_layout


@dataclass(frozen=True, eq=False)
class Cells:
    """One row per cell, and per coordinate of the kept partial axes."""

    starts: np.ndarray
    # (cells, ndim) where each box begins
    stops: np.ndarray
    # (cells, ndim) where it ends
    holders: np.ndarray
    # (cells, addends, replicas) ranks: any replica of each addend is as good
    targets: np.ndarray
    # (cells, members, replicas) ranks: all replicas of one member need the value, the other members the neutral element
    addends: tuple
    # (kind, count) of the partial axes that are resolved, outermost first; their product is the number of addends
    members: tuple
    # (kind, count) of the axes that become partial, outermost first; their product is the number of members


def check_pair(src, dst):
    """ValueError when two layouts are not of one tensor, TypeError when one is none."""
    check_layout("src", src)
    check_layout("dst", dst)
    if src.shape != dst.shape or src.dtype != dst.dtype:
        raise ValueError(
            f"boxing moves a tensor, it changes neither shape nor dtype: from {src} to {dst}; reshape or cast it apart"
        )


def kept_axes(src, dst):
    """The axes that stay partial, the source's and the destination's: each of their coordinates is a problem apart.

    On one placement they are the axes that are partial of one kind on both sides, with only such axes outside them. On
    two placements of the same ranks (one flattened, say) they are all partial axes, if every rank keeps its addend.
    """
    if src.placement != dst.placement:
        alike = len(src.partial_runs) == len(dst.partial_runs) == 1 and src.partial_runs[0][0] == dst.partial_runs[0][0]
        if alike and src.addend_numbers == dst.addend_numbers:
            return src.partial_runs[0][1], dst.partial_runs[0][1]
        return (), ()
    kept = []
    for (op, here), (other, there) in zip(src.partial_runs, dst.partial_runs, strict=False):
        if op != other:
            break
        kept += [axis for axis in here if axis in there]
        if set(here) != set(there):
            break
    return tuple(kept), tuple(kept)


def cells(src, dst):
    """The Cells of a transition between two layouts of one tensor."""
    edges = [np.array(sorted({*a, *b})) for a, b in zip(src.bounds, dst.bounds, strict=True)]
    lows, highs = [e[:-1] for e in edges], [e[1:] for e in edges]
    kept, kept_there = kept_axes(src, dst)
    num_kept = len(src.placement.offsets(kept))
    resolved = [(op, tuple(a for a in axes if a not in kept)) for op, axes in src.partial_runs]
    added = [(op, tuple(a for a in axes if a not in kept_there)) for op, axes in dst.partial_runs]
    return Cells(
        starts=np.repeat(_grid(lows), num_kept, axis=0),
        stops=np.repeat(_grid(highs), num_kept, axis=0),
        holders=_ranks(src, lows, kept, _axes(resolved), src.broadcast_axes),
        targets=_ranks(dst, lows, kept_there, _axes(added), dst.broadcast_axes),
        addends=_counts(src, resolved),
        members=_counts(dst, added),
    )


def _ranks(layout, lows, kept, outer, inner):
    """The ranks that hold each cell: (cells * kept, outer, inner)."""
    offsets = layout.placement.offsets
    base = np.zeros((), dtype=np.int64)
    for axes, bounds, low in zip(layout.splits, layout.bounds, lows, strict=True):
        piece = np.searchsorted(bounds, low, side="right") - 1  # an empty piece holds no cell
        base = np.add.outer(base, offsets(axes)[piece])
    base = np.add.outer(base.ravel(), offsets(kept)).ravel()
    places = base[:, None, None] + offsets(outer)[:, None] + offsets(inner)
    return np.asarray(layout.placement.ranks, dtype=np.int64)[places]


def _grid(columns):
    if not columns:
        return np.zeros((1, 0), dtype=np.int64)
    return np.stack([c.ravel() for c in np.meshgrid(*columns, indexing="ij")], axis=1).astype(np.int64)


def _axes(runs):
    return tuple(axis for _, axes in runs for axis in axes)


def _counts(layout, runs):
    return tuple((op, math.prod(layout.placement.axis_size(a) for a in axes)) for op, axes in runs if axes)
