"""`plan`: from one layout to another at the lower bound in bytes, on any two placements.

Each cell (see cells.py) goes the cheapest way: a target that holds it keeps it, one that does not gets it from one
holder; addends meet at an owner, who is a target and a holder where that can be, and the owner passes the sum on.
Among the plans at the bound the work is spread: holders take turns, and a large cell is cut so that every candidate
owns a piece. So P -> B becomes a reduce-scatter and an all-gather, and a broadcast from few to many becomes a scatter
and an all-gather.
"""

from functools import lru_cache

import numpy as np

from flow_sbp.cells import cells, check_pair
from flow_sbp.plan import Plan, Step

PIECE_BYTES = 2048  # cutting a cell finer costs more in messages than it spreads in bytes


@lru_cache(maxsize=4096)
def plan(src, dst):
    """The Plan that redistributes from layout `src` to layout `dst`; cached by the pair.

    ValueError when their shapes or dtypes differ. Sources of partial values are combined in the placement's order.
    """
    check_pair(src, dst)
    table = cells(src, dst)
    if not len(table.starts):  # no element, nothing to move
        return Plan(src, dst, (), table.addends)
    chosen, ranks, met = _choose(table)
    way = _deliver if table.holders.shape[1] == 1 else _reduce
    rows = [_fill(table, chosen), *way(table, ranks, met, src.itemsize)]
    return Plan(src, dst, tuple(_step(*row) for row in rows if row is not None and len(row[1])), table.addends)


def _choose(table):
    """Per cell: the member that gets the value (the one with most holders), its ranks, and which of them hold it."""
    num_cells, num_members, _ = table.targets.shape
    held = (table.targets[..., None] == table.holders.reshape(num_cells, 1, 1, -1)).any(axis=3)
    count = held.sum(axis=2)
    cell = np.arange(num_cells)
    chosen = np.where(count.any(axis=1), count.argmax(axis=1), cell % num_members)
    return chosen, table.targets[cell, chosen], held[cell, chosen]


def _fill(table, chosen):
    """The other members take the neutral element of the innermost kind in which they differ from the chosen one."""
    num_members = table.targets.shape[1]
    if num_members == 1:
        return None
    member = np.arange(num_members)
    kind = np.full((len(chosen), num_members), -1)
    stride = 1
    for level in reversed(range(len(table.members))):
        count = table.members[level][1]
        differs = (member // stride % count) != (chosen[:, None] // stride % count)
        kind = np.where((kind < 0) & differs, level, kind)
        stride *= count
    cell, other = np.nonzero(kind >= 0)
    ranks = table.targets[cell, other]  # (fills, replicas)
    names = [op for op, _ in table.members]
    fills = tuple(names[i] for i in kind[cell, other].tolist() for _ in range(ranks.shape[1]))
    rows = _rows(ranks, ranks, table.starts[cell][:, None], table.stops[cell][:, None])
    return "fill", *rows, fills


def _deliver(table, ranks, met, itemsize):
    """One copy suffices: keep what is there, send the rest."""
    cell, replica = np.nonzero(met)
    stay = ranks[cell, replica]
    keep = "keep", stay, stay, table.starts[cell], table.stops[cell]
    missing = (~met).sum(axis=1)
    direct = _send(table, ranks, met, missing, np.ones_like(missing))
    if direct[0] is None:
        return [keep]
    _, givers, takers, starts, stops = direct[0]
    sizes = np.prod(stops - starts, axis=1)
    crowded = np.bincount(givers, sizes).max() > np.bincount(takers, sizes).max()
    if not crowded:
        return [keep, *direct]
    few = missing > table.holders.shape[2]
    return [keep, *_send(table, ranks, met, missing, _pieces(table, np.where(few, missing, 1), itemsize))]


def _send(table, ranks, met, missing, pieces):
    """Each missing target gets the cell from a holder; of a cell in pieces each goes to one relay, who spreads it."""
    holders = table.holders[:, 0, :]  # (cells, replicas)
    sends, spreads = [], []
    for where, (num_missing, num_pieces) in _alike(missing, pieces):
        if num_missing == 0:
            continue
        wanting = ranks[where][~met[where]].reshape(len(where), num_missing)
        turn = np.arange(len(where))[:, None] * num_missing
        if num_pieces == 1:
            giver = np.take_along_axis(holders[where], (turn + np.arange(num_missing)) % holders.shape[1], axis=1)
            sends.append(_rows(giver, wanting, table.starts[where][:, None], table.stops[where][:, None]))
            continue
        starts, stops = _cut(table.starts[where], table.stops[where], num_pieces)
        piece = turn + np.arange(num_pieces)
        relay = np.take_along_axis(wanting, piece % num_missing, axis=1)
        giver = np.take_along_axis(holders[where], piece % holders.shape[1], axis=1)
        sends.append(_rows(giver, relay, starts, stops))
        spreads.append(_rows(relay[..., None], wanting[:, None, :], starts[:, :, None], stops[:, :, None]))
    return _join("send", sends), _join("spread", _travelling(spreads))


def _reduce(table, ranks, met, itemsize):
    """Addends meet at owners, owners pass the sum on to the other targets."""
    candidate = met | ~met.any(axis=1, keepdims=True)
    num_candidates = candidate.sum(axis=1)
    pieces = _pieces(table, num_candidates, itemsize)
    adds, spreads = [], []
    for where, (count, num_pieces) in _alike(num_candidates, pieces):
        able = ranks[where][candidate[where]].reshape(len(where), count)
        starts, stops = _cut(table.starts[where], table.stops[where], num_pieces)
        turn = np.arange(len(where))[:, None] + np.arange(num_pieces)
        owner = np.take_along_axis(able, turn % count, axis=1)[:, :, None]  # (cells, pieces, 1)
        holders = table.holders[where][:, None]  # (cells, 1, addends, replicas)
        own = (holders == owner[..., None]).any(axis=3)  # (cells, pieces, addends)
        replica = turn[:, :, None, None] % holders.shape[3]
        giver = np.take_along_axis(holders, np.broadcast_to(replica, (*own.shape, 1)), axis=3)[..., 0]
        adds.append(_rows(np.where(own, owner, giver), owner, starts[:, :, None], stops[:, :, None]))
        spreads.append(_rows(owner, ranks[where][:, None, :], starts[:, :, None], stops[:, :, None]))
    return _join("add", adds), _join("spread", _travelling(spreads))


def _pieces(table, wanted, itemsize):
    """Into how many pieces to cut each cell, at most `wanted`."""
    sizes = table.stops - table.starts
    worth = np.prod(sizes, axis=1) * itemsize // PIECE_BYTES
    return np.maximum(np.minimum(np.minimum(wanted, worth), sizes.max(axis=1, initial=1)), 1)


def _cut(starts, stops, num_pieces):
    """Each box in balanced pieces, (cells, pieces, ndim), along the first dim that is long enough, else the longest."""
    first = np.repeat(starts[:, None], num_pieces, axis=1)
    last = np.repeat(stops[:, None], num_pieces, axis=1)
    if num_pieces == 1:
        return first, last
    sizes = stops - starts
    ample = sizes >= 8 * num_pieces
    dim = np.where(ample.any(axis=1), ample.argmax(axis=1), sizes.argmax(axis=1))
    cell = np.arange(len(starts))
    base, extra = np.divmod(sizes[cell, dim], num_pieces)
    edge = np.arange(num_pieces + 1)
    edges = starts[cell, dim][:, None] + edge * base[:, None] + np.minimum(edge, extra[:, None])
    first[cell, :, dim], last[cell, :, dim] = edges[:, :-1], edges[:, 1:]
    return first, last


def _alike(*columns):
    """The cells that agree in all columns: (their numbers, the values)."""
    values, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    for i, row in enumerate(values.tolist()):
        yield np.nonzero(inverse.reshape(-1) == i)[0], row


def _rows(src, dst, starts, stops):
    """One row per move, from arrays that broadcast together (boxes have one more dim)."""
    shape = np.broadcast_shapes(src.shape, dst.shape, starts.shape[:-1])
    ndim = starts.shape[-1]
    flat = [np.broadcast_to(a, shape).reshape(-1) for a in (src, dst)]
    boxes = [np.broadcast_to(a, (*shape, ndim)).reshape(len(flat[0]), ndim) for a in (starts, stops)]
    return *flat, *boxes


def _travelling(tables):
    return [tuple(column[rows[0] != rows[1]] for column in rows) for rows in tables]


def _join(kind, tables):
    if not tables:
        return None
    return kind, *(np.concatenate(columns) for columns in zip(*tables, strict=True))


def _step(kind, src, dst, starts, stops, fills=()):
    return Step(kind, src, dst, starts, stops, fills)
