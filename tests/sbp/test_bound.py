"""The bound is the least number of transfers that any order of sends and local sums needs, by brute force."""

from itertools import combinations, product

import numpy as np
import pytest

from flow_sbp import Layout, Placement, lower_bound


def sums(masks):
    """All sums (sets of addends, as bits) that a rank can form from those it has."""
    masks = set(masks)
    while True:
        more = {a | b for a, b in combinations(masks, 2) if not a & b} - masks
        if not more:
            return frozenset(masks)
        masks |= more


def fewest_transfers(start, needing, num_addends, limit):
    """The least number of messages, each one sum from rank to rank, after which all of `needing` have the whole sum."""
    whole = (1 << num_addends) - 1
    seen = states = {tuple(sums(masks) for masks in start)}
    for count in range(limit + 1):
        if any(all(whole in state[rank] for rank in needing) for state in states):
            return count
        further = set()
        for state in states:
            for src, dst in product(range(len(state)), repeat=2):
                for mask in state[src] - state[dst]:
                    further.add((*state[:dst], sums(state[dst] | {mask}), *state[dst + 1 :]))
        states = further - seen
        seen = seen | states
    return limit + 1


@pytest.mark.parametrize(("num_ranks", "most_needing"), [(2, 2), (3, 3), (4, 2)])
def test_the_bound_is_what_brute_force_finds(num_ranks, most_needing):
    world = range(num_ranks)
    for num_addends in range(1, num_ranks + 1):
        for replicas in range(1, num_ranks // num_addends + 1):
            holders = list(world)[::-1][: num_addends * replicas]
            mesh = Placement(np.array(holders).reshape(num_addends, replicas), ("p", "b"))
            src = Layout((), "i8", mesh, "P, B" if num_addends > 1 else "B, B")
            start = [{1 << mesh.coordinates(rank)[0]} if rank in mesh else set() for rank in world]
            for size in range(1, most_needing + 1):
                for needing in combinations(world, size):
                    bound = lower_bound(src, Layout((), "i8", Placement(needing, "d"), "B"))
                    assert fewest_transfers(start, needing, num_addends, bound - 1) == bound, (mesh, needing)
