"""A Plan is a redistribution as data: a few steps, each a table of boxes of the global tensor that move between ranks.

Costs are folds over the steps, so the cost is the cost of what runs.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flow_sbp.dtype import dtype_of
from flow_sbp.layout import Layout

KINDS = ("fill", "keep", "send", "add", "spread")
# fill: boxes of the destination take a neutral element. keep: from source to destination on one rank. send: the same
# between ranks. add: addends go to a box's owner, who combines them in rank order and rounds once. spread: from one
# destination to others.


@dataclass(frozen=True, eq=False)
class Step:
    """Moves of one kind, which may all run at the same time."""

    kind: str
    # one of KINDS
    src: np.ndarray
    # (moves,) the rank that sends
    dst: np.ndarray
    # (moves,) the rank that receives; equal to src where nothing travels
    starts: np.ndarray
    # (moves, ndim) the box in the global tensor
    stops: np.ndarray
    # (moves, ndim)
    fills: tuple
    # for "fill": (moves,) the kind whose neutral element is taken

    def __post_init__(self):
        assert self.kind in KINDS, self.kind
        for table in (self.src, self.dst, self.starts, self.stops):
            table.flags.writeable = False

    def __len__(self):
        return len(self.src)

    @cached_property
    def elements(self):
        """(moves,) the size of each box."""
        return np.prod(self.stops - self.starts, axis=1, dtype=np.int64)

    @cached_property
    def messages(self):
        """(src, dst, elements) arrays: all boxes that travel from one rank to another in this step are one message."""
        away = self.src != self.dst
        width = 1 + int(max(self.src.max(initial=0), self.dst.max(initial=0)))
        pairs, inverse = np.unique(self.src[away] * width + self.dst[away], return_inverse=True)
        sizes = np.bincount(inverse, weights=self.elements[away], minlength=len(pairs)).astype(np.int64)
        return pairs // width, pairs % width, sizes

    @property
    def elements_on_wire(self):
        return int(self.messages[2].sum())


@dataclass(frozen=True, eq=False)
class Plan:
    """How to get from one layout to another; `execute` and `simulate` run it, `explain` prints it."""

    src: Layout
    # how the tensor lies
    dst: Layout
    # how it shall lie
    steps: tuple[Step, ...]
    # in order
    addends: tuple
    # (kind, count) of the partial axes that "add" resolves, outermost first

    @cached_property
    def bytes_on_wire(self):
        """The bytes that all ranks together send."""
        return sum(step.elements_on_wire for step in self.steps) * self.src.itemsize

    @cached_property
    def peak_bytes(self):
        """Source, destination and receive buffers of the worst rank.

        A rank receives one message at a time; the owner of 16-bit sums (or of parts of several kinds) also keeps them
        wide. Copies of pieces that do not lie together, made in order to send them, are not counted.
        """
        return max((self.rank_bytes(rank) for rank in self.ranks), default=0)

    @cached_property
    def ranks(self):
        """Every rank that takes part, in ascending order."""
        return tuple(sorted({*self.src.placement.ranks, *self.dst.placement.ranks}))

    def rank_bytes(self, rank):
        """`peak_bytes` of one rank."""
        total = sum(side.local_nbytes(rank) for side in (self.src, self.dst) if rank in side.placement)
        buffer, dtype = 0, dtype_of(self.src.dtype)
        for step in self.steps:
            _, receivers, sizes = step.messages
            buffer = max(buffer, int(sizes[receivers == rank].max(initial=0)) * self.src.itemsize)
            if step.kind == "add" and not (len(self.addends) == 1 and dtype.words == dtype.sums):
                owned = int(step.elements[step.dst == rank].sum()) // math.prod(n for _, n in self.addends)
                total += owned * dtype.sums.itemsize * len(self.addends)
        return total + buffer

    def explain(self):
        """The plan in words: a line per step, with the collective it amounts to, the mesh axes and the bytes."""
        same = self.src.placement == self.dst.placement
        where = f"on {self.src.placement!r}" if same else f"from {self.src.placement!r} to {self.dst.placement!r}"
        cost = f"{self.bytes_on_wire} bytes on the wire, peak {self.peak_bytes} on a rank"
        return "\n".join(
            [
                f"{self.src} -> {self.dst} {where}: {cost}",
                *(f"  {i + 1}. {self._line(step)}" for i, step in enumerate(self.steps)),
            ]
        )

    def _line(self, step):
        if step.kind == "fill":
            return f"fill: {len(step)} boxes with the neutral element of {', '.join(sorted(set(step.fills)))}"
        if step.kind == "keep":
            return f"keep: {int(step.elements.sum()) * self.src.itemsize} bytes stay on their ranks"
        senders, receivers, sizes = step.messages
        most = int(np.bincount(senders, weights=sizes).max(initial=0)) * self.src.itemsize
        return (
            f"{step.kind}: {_collective(step)} {self._axes(senders, receivers)}: {len(sizes)} messages, "
            f"{step.elements_on_wire * self.src.itemsize} bytes, at most {most} from one rank"
        )

    def _axes(self, senders, receivers):
        mesh = self.src.placement
        if mesh != self.dst.placement:
            return "between placements"
        a = np.unravel_index([mesh.index(int(r)) for r in senders], mesh.shape)
        b = np.unravel_index([mesh.index(int(r)) for r in receivers], mesh.shape)
        return f"over {', '.join(axis for axis, x, y in zip(mesh.axes, a, b, strict=True) if (x != y).any())}"

    def __str__(self):
        return self.explain()

    def __repr__(self):
        return f"<Plan {self.src} -> {self.dst}, {self.bytes_on_wire} bytes>"


def _collective(step):
    """The collective whose pattern the messages have, in the words people know; a name, not another way to run them."""
    senders, receivers, _ = step.messages
    num_senders, num_receivers = len(set(senders.tolist())), len(set(receivers.tolist()))
    if step.kind == "add":
        return "reduce" if num_receivers == 1 else "reduce-scatter"
    if step.kind == "spread":
        return "broadcast" if num_senders == 1 else "all-gather"
    if max(np.bincount(senders).max(), np.bincount(receivers).max()) == 1:
        return "permute"
    boxes = {tuple(row) for row in np.hstack([step.starts, step.stops]).tolist()}
    if num_senders == 1:
        return "broadcast" if len(boxes) == 1 else "scatter"
    if num_receivers == 1:
        return "gather"
    return "all-to-all" if len(boxes) == len(step) else "all-gather"
