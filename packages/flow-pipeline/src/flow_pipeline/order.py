"""Orders and cycles of a graph: what schedules and plans are proven with."""

from collections import deque
from collections.abc import Hashable, Iterable


def topological_order(nodes: Iterable[Hashable], edges: Iterable[tuple[Hashable, Hashable]]):
    """`(order, cycle)`: every node after its sources and `()`, or the part that has an order and one cycle.

    `edges` are (before, after). A cycle is a tuple of nodes in which each comes before the next, and the last before
    the first. The same input gives the same output: nodes without sources go first, in the order given.
    """
    after: dict = {node: [] for node in nodes}
    num_before = dict.fromkeys(after, 0)
    for a, b in edges:
        after[a].append(b)
        num_before[b] += 1
    ready = deque(node for node, num in num_before.items() if not num)
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for b in after[node]:
            num_before[b] -= 1
            if not num_before[b]:
                ready.append(b)
    if len(order) == len(after):
        return tuple(order), ()
    return tuple(order), _cycle(after, {node for node, num in num_before.items() if num})


def _cycle(after: dict, left: set) -> tuple:
    """A cycle among the nodes that are left: each of them has a source among them, so walking back meets itself."""
    before = {b: a for a in after if a in left for b in after[a] if b in left}
    node = next(node for node in after if node in left)
    seen: dict = {}
    while node not in seen:
        seen[node] = len(seen)
        node = before[node]
    walk = list(seen)[seen[node] :]
    return tuple(reversed(walk))
