"""A plan as one rank sees it: which boxes of its shards go to whom, and in which order it takes what it gets.

All boxes that a step moves from one rank to another are one message, so a pair of ranks exchanges at most one message
a step.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from flow_sbp.plan import Plan, Step


@dataclass(frozen=True, eq=False)
class Message:
    """The boxes that travel between this rank and a peer in one step."""

    peer: int
    # the other rank; this rank itself for its own addends
    boxes: tuple
    # indices into this rank's shard, alike ordered on both ends
    sizes: tuple[int, ...]
    # elements of each
    taken: tuple = ()
    # for its own addends: indices into the source's shard

    @property
    def size(self):
        return sum(self.sizes)


@dataclass(frozen=True, eq=False)
class Part:
    """One step of the plan on one rank."""

    kind: str
    # the step's
    inside: tuple
    # of "fill" and "keep": (index before, index after, kind of the neutral element)
    rounds: tuple
    # of "send" and "spread": (message out or None, message in or None), to and from the ranks at one distance
    sends: tuple[Message, ...]
    # of "add": this rank's addends for other owners
    receives: tuple[Message, ...]
    # of "add": what this rank owns, in the order in which it is combined, its own addends among it


@lru_cache(maxsize=4096)
def program(plan: Plan, rank: int):
    """The rank's Parts of a plan, one for each step."""
    return tuple(_part(plan, step, rank) for step in plan.steps)


def _part(plan: Plan, step: Step, rank: int):
    source = plan.dst if step.kind in ("fill", "spread") else plan.src
    inside, sends, receives = [], defaultdict(list), defaultdict(list)
    for i in ((step.src == rank) | (step.dst == rank)).nonzero()[0].tolist():
        src, dst, size = int(step.src[i]), int(step.dst[i]), int(step.elements[i])
        start, stop = step.starts[i].tolist(), step.stops[i].tolist()
        if step.kind in ("fill", "keep"):
            op = step.fills[i] if step.fills else None
            inside.append((_local(source, rank, start, stop), _local(plan.dst, rank, start, stop), op))
            continue
        if src == rank and dst != rank:
            sends[dst].append((_local(source, rank, start, stop), size))
        else:
            taken = _local(source, rank, start, stop) if src == rank else None
            receives[src].append((_local(plan.dst, rank, start, stop), size, taken))
    outgoing = {peer: Message(peer, *zip(*rows, strict=True)) for peer, rows in sends.items()}
    incoming = {peer: Message(peer, *zip(*rows, strict=True)) for peer, rows in receives.items()}
    if step.kind != "add":
        return Part(step.kind, tuple(inside), _rounds(plan.ranks, rank, outgoing, incoming), (), ())
    number = plan.src.addend_numbers
    ordered = sorted(incoming.values(), key=lambda message: (number[message.peer], message.peer))
    return Part(step.kind, (), (), tuple(outgoing.values()), tuple(ordered))


def _rounds(ranks, rank, outgoing, incoming):
    """Round d sends to the rank d places on and receives from the rank d places back.

    Every rank walks the distances upwards, so a message waits only for messages of a smaller distance: never in a
    circle.
    """
    here, rounds = ranks.index(rank), []
    for distance in range(1, len(ranks)):
        out = outgoing.get(ranks[(here + distance) % len(ranks)])
        back = incoming.get(ranks[(here - distance) % len(ranks)])
        if out or back:
            rounds.append((out, back))
    return tuple(rounds)


def _local(layout, rank, start, stop):
    """The box as an index into the rank's shard; the Ellipsis keeps the result an array where there are no dims."""
    low = [s.start for s in layout.local_slices(rank)]
    return (*(slice(a - o, b - o) for a, b, o in zip(start, stop, low, strict=True)), ...)
