"""Play a schedule against a clock: how long it takes, who idles, what it holds in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flow_pipeline.order import topological_order
from flow_pipeline.schedule import Action, Schedule

PerStage = float | Sequence[float]
"""One number: of a device's whole share of the model, spread evenly over its stages. A sequence: of each stage."""


@dataclass(frozen=True)
class Costs:
    """What one microbatch costs. Times in any one unit; memory in any one unit."""

    forward: PerStage
    backward: PerStage
    """Gradient of the input alone."""
    weight: PerStage
    """Gradient of the weights alone; the block BW takes `backward + weight`."""
    hop: float = 0.0
    """From the end of an action to the start of one on another device that takes its result."""
    keep_b: PerStage = 1.0
    """Memory from the start of F to the end of B (or BW)."""
    keep_w: PerStage = 0.0
    """Memory from the end of B to the end of W."""

    def __post_init__(self):
        for name in ("forward", "backward", "weight", "hop", "keep_b", "keep_w"):
            values = getattr(self, name)
            for value in values if isinstance(values, Sequence) else [values]:
                if not value >= 0:
                    raise ValueError(f"{name} is 0 or more, got {value!r}")

    def stage(self, name: str, schedule: Schedule) -> list[float]:
        """The cost `name` of each stage. ValueError if it is a sequence of another length."""
        value, p = getattr(self, name), schedule.num_stages
        if not isinstance(value, Sequence):
            return [value * schedule.num_devices / p] * p
        if len(value) != p:
            raise ValueError(f"{name} has {len(value)} values, the schedule has {p} stages")
        return list(value)


@dataclass(frozen=True)
class Span:
    """One action in time."""

    action: Action
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """A schedule played: when each device does what."""

    schedule: Schedule
    spans: tuple[tuple[Span, ...], ...]
    """Of each device, in order."""
    peak_activations: tuple[float, ...]
    """The most memory each device keeps for gradients to come, in the unit of `Costs.keep_b`."""

    @property
    def makespan(self) -> float:
        """From the first start to the last end."""
        return max(span.end for spans in self.spans for span in spans)

    @property
    def busy(self) -> tuple[float, ...]:
        """Time at work, of each device."""
        return tuple(sum(span.end - span.start for span in spans) for spans in self.spans)

    @property
    def bubble(self) -> tuple[float, ...]:
        """Time without work within the makespan, of each device."""
        return tuple(self.makespan - busy for busy in self.busy)

    @property
    def bubble_rate(self) -> float:
        """The part of the devices' time, within the makespan, that is without work."""
        return 1 - sum(self.busy) / (self.makespan * len(self.busy))

    @property
    def stage_bubble_rate(self) -> float:
        """(T - busy) / T of the device with the longest T: its own first start to last end (arXiv 2401.10241)."""
        time, busy = max((s[-1].end - s[0].start, busy) for s, busy in zip(self.spans, self.busy, strict=True))
        return (time - busy) / time

    def text(self, width: int = 100) -> str:
        """A drawing, a line a device, `width` characters for the makespan; `.` is idle, `F3--` is F of microbatch 3."""
        scale = width / self.makespan
        lines = [f"{self.schedule.name}: makespan {self.makespan:g}, bubble rate {self.bubble_rate:.4f}"]
        for device, spans in enumerate(self.spans):
            line = ["."] * width
            for span in spans:
                a, b = round(span.start * scale), round(span.end * scale)
                name = str(span.action).removesuffix(f"@{device}")
                line[a:b] = name.ljust(b - a, "-")[: b - a]
            lines.append(f"{device:3d} |{''.join(line)}| peak {self.peak_activations[device]:g}")
        return "\n".join(lines)


def simulate(schedule: Schedule, costs: Costs) -> Timeline:
    """Play `schedule`: an action starts when its device is free and what it takes has come, a hop later from elsewhere.

    ValueError if the schedule deadlocks or `costs` are of another number of stages. Sends are buffered and cost the
    devices no time.
    """
    if not (isinstance(schedule, Schedule) and isinstance(costs, Costs)):
        raise TypeError(f"simulate takes a Schedule and its Costs, got {schedule!r} and {costs!r}")
    forward, backward, weight = (costs.stage(name, schedule) for name in ("forward", "backward", "weight"))
    times = {"F": forward, "B": backward, "W": weight, "BW": [b + w for b, w in zip(backward, weight, strict=True)]}
    before = {b: a for actions in schedule.devices for a, b in pairwise(actions)}
    sources = {action: tuple(schedule.sources(action)) for action in schedule.where}
    edges = [*((a, b) for b, a in before.items()), *((a, b) for b, many in sources.items() for a in many)]
    order, cycle = topological_order(schedule.where, edges)
    if cycle:
        raise ValueError(f"{schedule.name} deadlocks: {' -> '.join(map(str, cycle))}; `verify` it first")
    spans: dict[Action, Span] = {}
    for action in order:
        device = schedule.where[action]
        start = spans[before[action]].end if action in before else 0.0
        for source in sources[action]:
            hop = costs.hop if schedule.where[source] != device else 0.0
            start = max(start, spans[source].end + hop)
        spans[action] = Span(action, start, start + times[action.kind][action.stage])
    by_device = tuple(tuple(spans[action] for action in actions) for actions in schedule.devices)
    return Timeline(schedule, by_device, _peaks(schedule, costs))


def _peaks(schedule: Schedule, costs: Costs) -> tuple[float, ...]:
    """A device works through one action at a time, so its order alone gives its memory."""
    keep_b, keep_w = costs.stage("keep_b", schedule), costs.stage("keep_w", schedule)
    peaks = []
    for actions in schedule.devices:
        held = peak = 0.0
        for action in actions:
            b, w = keep_b[action.stage], keep_w[action.stage]
            held += {"F": b, "B": w - b, "W": -w, "BW": -b}[action.kind]
            peak = max(peak, held)
        peaks.append(peak)
    return tuple(peaks)
