"""Tools for tests: random plans, random interleavings, the sequential run, and ranks as threads of one process.

Needs hypothesis (the extra `testing`).
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from hypothesis import strategies as st

from flow_pipeline.actor import Act, Crew, Done, Filled, Instruction, Returned, Send
from flow_pipeline.plan import Edge, Plan, Task

PRIME = 1_000_003


@st.composite
def plans(
    draw, *, max_tasks: int = 7, max_ranks: int = 3, max_firings: int = 4, max_credits: int = 3, any_rates: bool = False
):
    """A plan over a random DAG: skips, several readers, sources and sinks, isolated tasks; no imposed order.

    All tasks fire equally often, unless `any_rates`: then edges may be filled at every second or third firing only, and
    credits may be too few for that, so that not every plan verifies.
    """
    num_tasks = draw(st.integers(1, max_tasks))
    firings = draw(st.integers(1, max_firings))
    ranks = [draw(st.integers(0, max_ranks - 1)) for _ in range(num_tasks)]
    rates = [draw(st.sampled_from([1, 2, 6])) if any_rates else 1 for _ in range(num_tasks)]
    tasks = [Task(f"t{n}", rank, firings * rate) for n, (rank, rate) in enumerate(zip(ranks, rates, strict=True))]
    edges = []
    for number in range(draw(st.integers(0, 2 * num_tasks)) if num_tasks > 1 else 0):
        src = draw(st.integers(0, num_tasks - 2))
        every = draw(st.sampled_from([1, 2, 3, 6])) if any_rates else 1
        later = [n for n in range(src + 1, num_tasks) if tasks[n].firings * every == tasks[src].firings]
        if later:
            dst = draw(st.lists(st.sampled_from(later), min_size=1, max_size=3, unique=True))
            credits = draw(st.integers(1, max_credits))
            edges.append(Edge(f"e{number}", f"t{src}", tuple(f"t{n}" for n in dst), credits, every))
    return Plan(tuple(tasks), tuple(edges))


@st.composite
def ordered_plans(draw, **options):
    """A plan of `plans(any_rates=True)` with a random order imposed on some ranks; many of them deadlock."""
    plan = draw(plans(any_rates=True, **options))
    orders = {}
    for rank in plan.ranks:
        if draw(st.booleans()):
            names = [task.name for task in plan.tasks if task.rank == rank for _ in range(task.firings)]
            orders[rank] = tuple(draw(st.permutations(names)))
    return Plan(plan.tasks, plan.edges, orders)


def mixing_functions(plan: Plan) -> dict[str, Callable]:
    """A function for each task whose outputs depend on the task, the firing, and each of its inputs in its place."""

    def function(place: int, num_outputs: int) -> Callable:
        def mix(index: int, *inputs: int) -> Any:
            value = 17 * place + 3 * index
            for number in inputs:
                value = (31 * value + number) % PRIME
            outputs = tuple((value + output) % PRIME for output in range(max(num_outputs, 1)))
            return outputs if num_outputs > 1 else outputs[0]

        return mix

    return {task.name: function(n, len(plan.outputs[task.name])) for n, task in enumerate(plan.tasks)}


def sequential(plan: Plan, functions: dict[str, Callable]) -> dict[str, list]:
    """What each firing of each sink returns, in the plainest way: firings one by one in a proven order, no actors."""
    queues = {(edge.name, reader): deque() for edge in plan.edges for reader in edge.dst}
    results: dict[str, list] = {task.name: [] for task in plan.tasks if not plan.outputs[task.name]}
    for name, index in plan.verify():
        inputs = [queues[edge.name, name].popleft() for edge in plan.inputs[name]]
        value = functions[name](index, *inputs)
        outputs = plan.outputs[name]
        for edge, item in zip(outputs, value if len(outputs) > 1 else (value,) * len(outputs), strict=True):
            if (index + 1) % edge.every == 0:
                for reader in edge.dst:
                    queues[edge.name, reader].append(item)
        if not outputs:
            results[name].append(value)
    return results


def interleave(
    plan: Plan, functions: dict[str, Callable], choose: Callable[[int], int], *, runs: int = 1
) -> tuple[dict[str, list], bool]:
    """Run the actors, with `choose(n)` in 0..n-1 picking what happens next: `(what sinks returned, all got through)`.

    Messages of one edge and reader stay in order, everything else may overtake; several acts of a rank may be under
    way. Asserts at each step that no edge has more full registers than credits.
    """
    crews = {rank: Crew(plan, rank) for rank in plan.ranks}
    ways: dict[Any, deque] = {}
    results: dict[str, list] = {task.name: [] for task in plan.tasks if not plan.outputs[task.name]}

    def perform(instructions: list[Instruction]) -> None:
        for i in instructions:
            if isinstance(i, Act):
                ways.setdefault(i.task, deque()).append(i)
            elif isinstance(i, Send):
                ways.setdefault((i.edge, i.reader), deque()).append(Filled(i.reader, i.edge, i.value))
            else:
                ways.setdefault((i.edge, i.reader, "back"), deque()).append(Returned(i.producer, i.edge, i.reader))

    for _ in range(runs):
        for crew in crews.values():
            perform(crew.start())
    while open_ways := [way for way in ways.values() if way]:
        event = open_ways[choose(len(open_ways))].popleft()
        if isinstance(event, Act):
            value = functions[event.task](event.index, *event.inputs)
            num = len(plan.outputs[event.task])
            if not num:
                results[event.task].append(value)
            event = Done(event.task, value if num > 1 else (value,) * num)
        perform(crews[plan.task[event.task].rank].handle(event))
        for crew in crews.values():
            for actor in crew.actors.values():
                for registers in actor.registers.values():
                    assert registers.num_full <= registers.edge.credits, registers
    return results, all(crew.finished for crew in crews.values())


class RendezvousComm:
    """What the runtime needs of a communicator, between threads, without buffers: a send ends when it is received.

    (flow_sbp's simulated ranks keep what is sent in mailboxes, so they hide who would wait for whom.)
    """

    def __init__(self, rank: int, size: int, world: dict, lock: threading.Lock):
        self.rank, self.size = rank, size
        self._world, self._lock = world, lock

    def isend(self, array: np.ndarray, dst: int, tag: int) -> "RendezvousRequest":
        return self._meet((self.rank, dst, tag), array, sends=True)

    def irecv(self, array: np.ndarray, src: int, tag: int) -> "RendezvousRequest":
        return self._meet((src, self.rank, tag), array, sends=False)

    def _meet(self, way: tuple, array: np.ndarray, *, sends: bool) -> "RendezvousRequest":
        request = RendezvousRequest(array)
        with self._lock:
            mine, other = self._world.setdefault(way, (deque(), deque()))[:: 1 if sends else -1]
            if other:
                partner = other.popleft()
                src, dst = (request, partner) if sends else (partner, request)
                dst.array[...] = src.array
                request.done = partner.done = True
            else:
                mine.append(request)
        return request


class RendezvousRequest:
    """A message that has met its other side, or not yet."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.done = False

    def test(self) -> bool:
        return self.done


def rendezvous(size: int, program: Callable[[RendezvousComm], Any]) -> list:
    """`program(comm)` on `size` ranks, each a thread: what each returned, or the exception that it raised."""
    world: dict = {}
    lock = threading.Lock()

    def rank(number: int) -> Any:
        try:
            return program(RendezvousComm(number, size, world, lock))
        except Exception as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(rank, range(size)))
