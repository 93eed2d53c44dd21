"""Play a plan's actors against a clock, without doing their work: when each would act."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from flow_pipeline.actor import Act, Crew, Done, Filled, GiveBack, Instruction, Returned, Send
from flow_pipeline.plan import Plan


@dataclass(frozen=True)
class Firing:
    """One act in time."""

    task: str
    index: int
    start: float
    end: float


def play(plan: Plan, duration: Callable[[str], float], *, hop: float = 0.0) -> dict[int, list[Firing]]:
    """What each rank does when, for one run: `duration(task)` a firing, `hop` for a message between ranks.

    A rank does one thing at a time, of what is ready that which is furthest along the edges. ValueError if the plan
    gets stuck, with where its actors stand.
    """
    crews = {rank: Crew(plan, rank) for rank in plan.ranks}
    ready: dict[int, list] = {rank: [] for rank in plan.ranks}
    busy: set[int] = set()
    spans: dict[int, list[Firing]] = {rank: [] for rank in plan.ranks}
    arrivals: list = []
    ticket = count()

    def perform(now: float, rank: int, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Act(task):
                    heapq.heappush(ready[rank], (-plan.depth[task], next(ticket), instruction))
                    continue
                case Send(reader, edge, value):
                    event = Filled(reader, edge, value)
                case GiveBack(producer, edge, reader):
                    event = Returned(producer, edge, reader)
            delay = hop if plan.task[event.task].rank != rank else 0.0
            heapq.heappush(arrivals, (now + delay, next(ticket), event))

    now = 0.0
    for rank, crew in crews.items():
        perform(now, rank, crew.start())
    while True:
        while arrivals and arrivals[0][0] <= now:
            _, _, event = heapq.heappop(arrivals)
            rank = plan.task[event.task].rank
            if isinstance(event, Done):
                busy.discard(rank)
            perform(now, rank, crews[rank].handle(event))
        for rank, acts in ready.items():
            if acts and rank not in busy:
                _, _, act = heapq.heappop(acts)
                end = now + duration(act.task)
                busy.add(rank)
                spans[rank].append(Firing(act.task, act.index, now, end))
                outputs = (None,) * len(plan.outputs[act.task])
                heapq.heappush(arrivals, (end, next(ticket), Done(act.task, outputs)))
        if not arrivals:
            break
        now = arrivals[0][0]
    if not all(crew.finished for crew in crews.values()):
        raise ValueError("the plan gets stuck:\n" + "\n".join(map(str, crews.values())))
    return spans
