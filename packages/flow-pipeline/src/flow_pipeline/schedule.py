"""A schedule is a value: for each device, the ordered list of what it does.

It prints and parses as text that a person can edit, and `verify` proves it before anything runs:

    1f1b: 2 stages, 3 microbatches
    device 0: F0 F1 BW0 F2 BW1 BW2
    device 1: F0 BW0 F1 BW1 F2 BW2
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flow_pipeline.order import topological_order

KINDS = ("F", "B", "W", "BW")
"""Forward; gradient of the input; gradient of the weights; both gradients as one block."""


@dataclass(frozen=True, slots=True, order=True)
class Action:
    """One piece of work: `kind` of one microbatch at one stage."""

    kind: str
    """One of `KINDS`."""
    stage: int
    """The part of the model, counted along the way from input to output; a device may hold several (its chunks)."""
    microbatch: int

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"an action is one of {', '.join(KINDS)}, not {self.kind!r}")

    def __str__(self) -> str:
        return f"{self.kind}{self.microbatch}@{self.stage}"

    @classmethod
    def parse(cls, text: str, stage: int) -> "Action":
        """The action written `F3` or `F3@1`; without `@`, it is at `stage`. ValueError if it is not one."""
        match = re.fullmatch(r"(F|BW|B|W)(\d+)(?:@(\d+))?", text)
        if not match:
            raise ValueError(f"expected an action like F3, BW0 or F3@1, got {text!r}")
        return cls(match[1], stage if match[3] is None else int(match[3]), int(match[2]))


@dataclass(frozen=True)
class Schedule:
    """What every device of a pipeline does, in which order. Nothing is proven until `verify` is called."""

    name: str
    num_stages: int
    num_microbatches: int
    devices: tuple[tuple[Action, ...], ...]
    """The actions of each device, in order."""
    skips: tuple[tuple[int, int], ...] = ()
    """Skip connections (src stage, dst stage), beside the chain 0 -> 1 -> 2 ...: F goes along them, gradients back."""

    def __post_init__(self):
        for src, dst in self.skips:
            if not 0 <= src < dst < self.num_stages:
                raise ValueError(f"a skip goes from a stage to a later one of 0..{self.num_stages - 1}: {src} -> {dst}")

    @property
    def num_devices(self) -> int:
        return len(self.devices)

    @cached_property
    def where(self) -> dict[Action, int]:
        """The device of each action."""
        return {action: device for device, actions in enumerate(self.devices) for action in actions}

    def sources(self, action: Action) -> Iterator[Action]:
        """The actions whose result `action` takes, those of other devices included; only such as are in the table."""
        stage, mb = action.stage, action.microbatch
        if action.kind == "F":
            before = [src for src, dst in self.edges if dst == stage]
            candidates = [Action("F", src, mb) for src in before]
        elif action.kind == "W":
            candidates = [Action("B", stage, mb)]
        else:
            behind = [dst for src, dst in self.edges if src == stage]
            candidates = [Action("F", stage, mb), *(Action(kind, dst, mb) for dst in behind for kind in ("B", "BW"))]
        return (source for source in candidates if source in self.where)

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """(src stage, dst stage) of the chain, then of the skips."""
        return (*((s, s + 1) for s in range(self.num_stages - 1)), *self.skips)

    def verify(self, *, rendezvous: bool = True, memory_limit: int | None = None) -> tuple[int, ...]:
        """The largest number of microbatches that each device holds between F and its last gradient, once proven:

        - complete: every stage has every microbatch's F once, and its BW, or B and W, once (or no stage has gradients),
          all on one device;
        - acyclic: the devices' orders and the data they wait for never wait in a circle;
        - with `rendezvous`, also if nothing buffers a message: between two actions a device gives what it just made
          and takes what it needs next, all at once, and goes on when each of these has met its other side. Skip
          connections often fail here, and then need buffers: the registers of `flow_pipeline.plan_of` are such.

        ValueError names the actions at fault, or the device above `memory_limit`.
        """
        self._verify_complete()
        order = [(a, b) for actions in self.devices for a, b in pairwise(actions)]
        data = [(source, action) for action in self.where for source in self.sources(action)]
        self._verify_acyclic(order + data, "")
        if rendezvous:
            before = {b: a for a, b in order}
            behind = {a: b for a, b in order}
            sends = [(a, b) for a, b in data if self.where[a] != self.where[b]]
            meet = [(before[b], behind[a]) for a, b in sends if b in before and a in behind]
            self._verify_acyclic(order + data + meet, " when sends wait for their receives (rendezvous)")
        peaks = tuple(max(held, default=0) for held in self._held())
        if memory_limit is not None and max(peaks) > memory_limit:
            device = peaks.index(max(peaks))
            raise ValueError(f"device {device} holds {max(peaks)} microbatches, more than memory_limit={memory_limit}")
        return peaks

    def _verify_complete(self) -> None:
        counts: dict[Action, int] = {}
        for actions in self.devices:
            for action in actions:
                counts[action] = counts.get(action, 0) + 1
                if not (0 <= action.stage < self.num_stages and 0 <= action.microbatch < self.num_microbatches):
                    raise ValueError(
                        f"{self.name}: {action} is outside {self.num_stages} stages and "
                        f"{self.num_microbatches} microbatches"
                    )
        for action, count in counts.items():
            if count > 1:
                raise ValueError(f"{self.name}: {action} is there {count} times, once is right")
        if not counts:
            raise ValueError(f"{self.name}: there is no action")
        forward_only = all(action.kind == "F" for action in counts)
        for stage in range(self.num_stages):
            for mb in range(self.num_microbatches):
                f, b, w, bw = (Action(kind, stage, mb) for kind in KINDS)
                if f not in counts:
                    raise ValueError(f"{self.name}: {f} is missing")
                have = tuple(a for a in (b, w, bw) if a in counts)
                if not forward_only and have not in ((b, w), (bw,)):
                    found = " and ".join(map(str, have)) or "neither"
                    raise ValueError(f"{self.name}: expected {bw}, or {b} and {w}; found {found}")
                if len({self.where[a] for a in (f, *have)}) > 1:
                    places = ", ".join(f"{a} on device {self.where[a]}" for a in (f, *have))
                    raise ValueError(f"{self.name}: one stage's actions on a microbatch share a device: {places}")

    def _verify_acyclic(self, edges, when: str) -> None:
        _, cycle = topological_order(self.where, edges)
        if cycle:
            words = " -> ".join(f"{action} on device {self.where[action]}" for action in (*cycle, cycle[0]))
            raise ValueError(f"{self.name}: deadlock{when}, each waits for the one before: {words}")

    def _held(self) -> Iterator[list[int]]:
        """How many (stage, microbatch) each device holds after each of its actions."""
        for actions in self.devices:
            held = [0]
            for action in actions:
                held.append(held[-1] + {"F": 1, "B": 0, "W": -1, "BW": -1}[action.kind])
            yield held

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.num_stages} stages, {self.num_microbatches} microbatches"]
        lines += [f"skip {src} -> {dst}" for src, dst in self.skips]
        for device, actions in enumerate(self.devices):
            words = (str(action).removesuffix(f"@{device}") for action in actions)
            lines.append(f"device {device}: {' '.join(words)}")
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> "Schedule":
        """The schedule that `str` wrote, or a person; `#` starts a comment. ValueError names the line that is wrong.

        An action without `@stage` is at the stage with its device's number.
        """
        lines = [(n, line.split("#")[0].strip()) for n, line in enumerate(text.splitlines(), 1)]
        lines = [(n, line) for n, line in lines if line]
        head = re.fullmatch(r"(\S+): (\d+) stages?, (\d+) microbatch(?:es)?", lines[0][1] if lines else "")
        if not head:
            raise ValueError(f"expected '<name>: <p> stages, <m> microbatches' first, got {lines[:1]}")
        skips, devices = [], []
        for n, line in lines[1:]:
            if match := re.fullmatch(r"skip (\d+) -> (\d+)", line):
                skips.append((int(match[1]), int(match[2])))
            elif match := re.fullmatch(rf"device {len(devices)}:(.*)", line):
                try:
                    devices.append(tuple(Action.parse(word, len(devices)) for word in match[1].split()))
                except ValueError as error:
                    raise ValueError(f"line {n}: {error}") from None
            else:
                raise ValueError(f"line {n}: expected 'device {len(devices)}: F0 ...' or 'skip 0 -> 3', got {line!r}")
        return cls(head[1], int(head[2]), int(head[3]), tuple(devices), tuple(skips))
