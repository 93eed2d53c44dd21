"""Registers: the buffer slots of one edge. A full one is free again when every reader has sent it back.

Registers are filled and sent back in order, so two counters stand for all of them.
"""

from flow_pipeline.plan import Edge


class Registers:
    """The registers of one edge, as its producer sees them. Values travel with the messages, not in here."""

    __slots__ = ("back", "edge", "filled")

    def __init__(self, edge: Edge):
        self.edge = edge
        self.filled = 0
        self.back = dict.fromkeys(edge.dst, 0)

    @property
    def num_full(self) -> int:
        """Filled, or claimed by an act that will fill it, and not yet back from every reader."""
        return self.filled - min(self.back.values())

    @property
    def free(self) -> bool:
        return self.num_full < self.edge.credits

    def claim(self) -> None:
        """Take a free register for an act that will fill it."""
        assert self.free, self
        self.filled += 1

    def take_back(self, reader: str) -> None:
        """`reader` is through with the oldest register that it still had."""
        assert self.back[reader] < self.filled, self
        self.back[reader] += 1

    @property
    def held_by(self) -> tuple[str, ...]:
        """The readers that keep the oldest full register from being free."""
        oldest = min(self.back.values())
        return tuple(name for name, count in self.back.items() if count == oldest and count < self.filled)

    def __repr__(self) -> str:
        return f"{self.edge.name}: {self.filled} filled, back {self.back}, of {self.edge.credits}"
