"""From a schedule to register counts and a plan, and from register counts back to a schedule.

`plan_of` names tasks by kind and stage ("F0", "BW0"; "B0" and "W0" where they are apart) and edges by what they carry:

    x0        F0 -> F1     activations            skip0_3   F0 -> F3    a skip connection
    saved0    F0 -> BW0    kept for the gradient  skipg0_3  BW3 -> BW0  its gradient
    g1        BW1 -> BW0   gradients              held0     B0 -> W0    kept for the weights
    out       F<last> -> out                      what the last stage gives, say the loss
"""

from collections.abc import Sequence

from flow_pipeline.clock import play
from flow_pipeline.plan import Edge, Plan, Task
from flow_pipeline.schedule import Action, Schedule
from flow_pipeline.schedules import schedule as named_schedule


def credits(schedule: Schedule) -> tuple[int, ...]:
    """For each stage, the most microbatches that `schedule` has between F and the gradient that frees what F saved.

    Stage s may have this many registers on every edge that F<s> fills, and on every edge of gradients back to it, and
    neither waits for a register at any timing: by the order itself, F<s> of microbatch n comes after the gradient of
    n - credits at s, which comes after all that the stages behind do with either. (2, for double buffers, if there are
    no gradients.)
    """
    if not any(action.kind in ("B", "BW") for action in schedule.where):
        return (2,) * schedule.num_stages
    return tuple(_peak(schedule, stage, ("F",), ("B", "BW")) for stage in range(schedule.num_stages))


def _peak(schedule: Schedule, stage: int, up: tuple[str, ...], down: tuple[str, ...]) -> int:
    """The most that are under way at `stage` between the kinds `up` and `down`; a stage is on one device."""
    now = peak = 0
    for actions in schedule.devices:
        for action in actions:
            if action.stage == stage:
                now += (action.kind in up) - (action.kind in down)
                peak = max(peak, now)
    return peak


def plan_of(schedule: Schedule, ranks: Sequence[int] | None = None, *, outputs: bool = True) -> Plan:
    """The plan that runs `schedule`: device d on rank `ranks[d]` (default: d), in its order, with its `credits`.

    A function of the plan takes (microbatch, *inputs) and returns its outputs, both in the order of the table above:

        F<s>(mb, x, *skips) -> (x, *skips, saved)            stage 0 takes no x, the last gives `out` in place of x
        BW<s>(mb, saved, g, *skip_gradients) -> (g, *skip_gradients)     the last stage takes no g, stage 0 gives none
        B<s>(mb, saved, g, ...) -> (g, ..., held)     W<s>(mb, held)     out(mb, out)

    The task `out` is on the last stage's rank; what it returns is the result of a run. Without `outputs` it is left
    out, and F of the last stage returns only what it saves. A single output is returned as it is, not in a tuple.
    ValueError if the schedule does not verify, or if a stage takes microbatches in another order than 0, 1, 2 ..., or
    if a stage is on two devices, or has both BW and B.
    """
    schedule.verify(rendezvous=False)
    ranks = tuple(range(schedule.num_devices)) if ranks is None else tuple(ranks)
    if len(ranks) != schedule.num_devices or len(set(ranks)) < len(ranks):
        raise ValueError(f"expected {schedule.num_devices} different ranks, one a device, got {ranks}")
    tasks, orders = _tasks(schedule, ranks)
    edges = _edges(schedule, {task.name for task in tasks}, credits(schedule))
    if outputs:
        last = schedule.num_stages - 1
        home = next(task.rank for task in tasks if task.name == f"F{last}")
        tasks.append(Task("out", home, schedule.num_microbatches))
        edges.insert(last, Edge("out", f"F{last}", ("out",)))
    return Plan(tuple(tasks), tuple(edges), orders)


def _tasks(schedule: Schedule, ranks: tuple[int, ...]) -> tuple[list[Task], dict[int, tuple[str, ...]]]:
    kinds = {(action.kind, action.stage) for action in schedule.where}
    if mixed := [s for s in range(schedule.num_stages) if {("B", s), ("BW", s)} <= kinds]:
        raise ValueError(f"stage {mixed[0]} has both BW and B; a stage of a plan has one of the two")
    tasks: dict[str, Task] = {}
    orders = {}
    done: dict[str, int] = {}
    for rank, actions in zip(ranks, schedule.devices, strict=True):
        orders[rank] = tuple(f"{action.kind}{action.stage}" for action in actions)
        for action, name in zip(actions, orders[rank], strict=True):
            task = tasks.setdefault(name, Task(name, rank, schedule.num_microbatches))
            if task.rank != rank:
                raise ValueError(f"{name} is on two devices; a stage of a plan is on one")
            if action.microbatch != done.get(name, 0):
                raise ValueError(f"{name} takes microbatch {action.microbatch} where {done.get(name, 0)} is next")
            done[name] = action.microbatch + 1
    return list(tasks.values()), orders


def _edges(schedule: Schedule, names: set[str], counts: Sequence[int]) -> list[Edge]:
    stages = range(schedule.num_stages)
    b = {s: f"B{s}" if f"B{s}" in names else f"BW{s}" for s in stages}
    edges = [Edge(f"x{s}", f"F{s}", (f"F{s + 1}",), counts[s]) for s in stages[:-1]]
    edges += [Edge(f"skip{src}_{dst}", f"F{src}", (f"F{dst}",), counts[src]) for src, dst in schedule.skips]
    if b[0] not in names:
        return edges
    edges += [Edge(f"saved{s}", f"F{s}", (b[s],), counts[s]) for s in stages]
    edges += [Edge(f"g{s + 1}", b[s + 1], (b[s],), counts[s]) for s in stages[:-1]]
    edges += [Edge(f"skipg{src}_{dst}", b[dst], (b[src],), counts[src]) for src, dst in schedule.skips]
    for s in stages:
        if f"W{s}" in names:
            edges.append(Edge(f"held{s}", f"B{s}", (f"W{s}",), _peak(schedule, s, ("B",), ("W",))))
    return edges


def schedule_of(
    counts: Sequence[int], num_microbatches: int, *, forward: float = 1.0, backward: float = 2.0, hop: float = 0.0
) -> Schedule:
    """The schedule that `counts[s]` registers at stage s lead to, by themselves: no order is imposed.

    Actors run as soon as they can, gradients before forwards, with these costs of F and BW. `counts` of p - s at stage
    s give 1F1B. The schedule's `credits` are at most `counts`.
    """
    model = named_schedule("gpipe", len(counts), num_microbatches)
    tasks, _ = _tasks(model, tuple(range(len(counts))))
    plan = Plan(tuple(tasks), tuple(_edges(model, {task.name for task in tasks}, counts)))
    spans = play(plan, lambda task: forward if task.startswith("F") else backward, hop=hop)
    devices = []
    for stage in range(len(counts)):
        kinds = ((span.task.removesuffix(str(stage)), span.index) for span in spans[stage])
        devices.append(tuple(Action(kind, stage, index) for kind, index in kinds))
    return Schedule("credits", len(counts), num_microbatches, tuple(devices))
