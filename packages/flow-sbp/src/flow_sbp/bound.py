"""The fewest bytes that any redistribution between two layouts must send, cell by cell, straight from the definition.

Written apart from `plan` and in plain Python sets, so that each can be held against the other.
"""

import math
from bisect import bisect_left
from itertools import product

from flow_sbp.cells import check_pair, kept_axes


def lower_bound(src, dst):
    """The exact bound in bytes on the wire.

    An element held by the ranks H and needed by the ranks D costs |D - H| transfers. If it is the sum of k addends it
    costs k-1 + |D|-1 where D meets H, else k-1 + |D|: k-1 merges need a transfer each, and every rank but one gets
    the sum by one. Where an axis becomes partial, one rank of each of its groups needs the value, one that holds it
    if there is one. An axis that is partial of one kind on both sides is one such problem for each of its
    coordinates.
    """
    check_pair(src, dst)
    kept, kept_there = kept_axes(src, dst)
    edges = [sorted({*a, *b}) for a, b in zip(src.bounds, dst.bounds, strict=True)]
    held = _by_cell(src, edges, kept, [axis for axis, _ in src.partials if axis not in kept])
    needed = _by_cell(dst, edges, kept_there, [axis for axis, _ in dst.partials if axis not in kept_there])
    elements = 0
    for key, members in needed.items():
        addends = held[key]
        transfers = min(_transfers(addends, member) for member in members.values())
        elements += transfers * math.prod(e[i + 1] - e[i] for e, i in zip(edges, key[0], strict=True))
    return elements * src.itemsize


def _transfers(addends, needing):
    holders = set().union(*addends.values())
    if len(addends) == 1:
        return len(needing - holders)
    return len(addends) - 1 + len(needing) - bool(needing & holders)


def _by_cell(layout, edges, kept, classes):
    """{(cell, number along the kept axes): {coordinates on the class axes: ranks}}."""
    found = {}
    for rank in layout.placement.ranks:
        at = dict(zip(layout.placement.axes, layout.placement.coordinates(rank), strict=True))
        number = 0
        for axis in kept:
            number = number * layout.placement.axis_size(axis) + at[axis]
        spans = [
            range(bisect_left(e, s.start), bisect_left(e, s.stop))
            for e, s in zip(edges, layout.local_slices(rank), strict=True)
        ]
        for cell in product(*spans):
            found.setdefault((cell, number), {}).setdefault(tuple(at[axis] for axis in classes), set()).add(rank)
    return found
