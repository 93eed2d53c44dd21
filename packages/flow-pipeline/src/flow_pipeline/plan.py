"""What a compiler hands to the runtime: tasks on ranks, the edges between them, and their credits.

A plan is proven before it runs: `verify` unrolls it into single firings and shows that they never wait in a circle.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from flow_pipeline.order import topological_order


@dataclass(frozen=True)
class Task:
    """A piece of work that one rank does `firings` times a run."""

    name: str
    rank: int
    firings: int = 1

    def __post_init__(self):
        if self.firings < 1 or self.rank < 0:
            raise ValueError(f"task {self.name!r}: firings >= 1 and rank >= 0, got {self.firings} and {self.rank}")


@dataclass(frozen=True)
class Edge:
    """One output of `src`, in `credits` registers; every task in `dst` reads each, in the order filled."""

    name: str
    src: str
    dst: tuple[str, ...]
    credits: int = 1
    """How many registers: `src` runs at most so many ahead of its slowest reader."""
    every: int = 1
    """`src` fills a register at every so-many-th firing: 4 for a sum over 4 microbatches."""

    def __post_init__(self):
        if isinstance(self.dst, str) or not self.dst or len(set(self.dst)) < len(self.dst):
            raise ValueError(f"edge {self.name!r}: dst is a tuple of one or more different tasks, got {self.dst!r}")
        if self.credits < 1 or self.every < 1:
            raise ValueError(f"edge {self.name!r}: credits and every are >= 1, got {self.credits} and {self.every}")


@dataclass(frozen=True)
class Plan:
    """Tasks and the edges between them. Checked at construction; `verify` proves that it runs through."""

    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    orders: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The order imposed on some ranks: names of their tasks, one for each firing. Tasks that an order does not name
    run when they can; so do all tasks of the other ranks, those furthest along the edges first."""

    def __post_init__(self):
        object.__setattr__(self, "tasks", tuple(self.tasks))
        object.__setattr__(self, "edges", tuple(self.edges))
        if not self.tasks:
            raise ValueError("a plan has one task or more, got none")
        for what, values in (("tasks", self.tasks), ("edges", self.edges)):
            for name, count in Counter(value.name for value in values).items():
                if count > 1:
                    raise ValueError(f"{count} {what} are named {name!r}")
        for edge in self.edges:
            for name in (edge.src, *edge.dst):
                if name not in self.task:
                    raise ValueError(f"edge {edge.name!r}: there is no task {name!r}")
            for name in edge.dst:
                if self.task[edge.src].firings != self.task[name].firings * edge.every:
                    raise ValueError(
                        f"edge {edge.name!r}: {edge.src!r} fires {self.task[edge.src].firings} times and fills every "
                        f"{edge.every}, but {name!r} fires {self.task[name].firings} times"
                    )
        for rank, order in self.orders.items():
            for name, count in Counter(order).items():
                if name not in self.task or self.task[name].rank != rank:
                    raise ValueError(f"the order of rank {rank} names {name!r}, which is no task of that rank")
                if count != self.task[name].firings:
                    raise ValueError(
                        f"the order of rank {rank} names {name!r} {count} times, "
                        f"it fires {self.task[name].firings} times"
                    )

    @cached_property
    def task(self) -> dict[str, Task]:
        return {task.name: task for task in self.tasks}

    @cached_property
    def edge(self) -> dict[str, Edge]:
        return {edge.name: edge for edge in self.edges}

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks with tasks, ascending."""
        return tuple(sorted({task.rank for task in self.tasks}))

    @cached_property
    def inputs(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that each task reads, in the plan's order: the order of its function's arguments."""
        return {task.name: tuple(e for e in self.edges if task.name in e.dst) for task in self.tasks}

    @cached_property
    def outputs(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that each task fills, in the plan's order: the order of what its function returns."""
        return {task.name: tuple(e for e in self.edges if e.src == task.name) for task in self.tasks}

    @cached_property
    def depth(self) -> dict[str, int]:
        """How far along the edges each task is: its place in their topological order."""
        links = [(edge.src, name) for edge in self.edges for name in edge.dst]
        order, cycle = topological_order(self.task, links)
        if cycle:
            raise ValueError(f"the edges go in a circle: {' -> '.join((*cycle, cycle[0]))}")
        return {name: place for place, name in enumerate(order)}

    def verify(self) -> tuple[tuple[str, int], ...]:
        """Every firing (task, n) of one run in an order that works: the proof that no run deadlocks, with any timing.

        Firing n of a task comes after firing n-1, after what it reads was filled, after every reader gave back the
        register that it fills, and after its rank's order. Each of these waits for one certain firing, so the plan runs
        through, whatever the timing, just if they have no cycle. ValueError shows the cycle.
        """
        self.depth  # noqa: B018 - raises for edges in a circle
        nodes = [(task.name, n) for task in self.tasks for n in range(task.firings)]
        waits = [((task.name, n - 1), (task.name, n)) for task in self.tasks for n in range(1, task.firings)]
        for edge in self.edges:
            for name in edge.dst:
                for n in range(self.task[name].firings):
                    waits.append(((edge.src, (n + 1) * edge.every - 1), (name, n)))
                    if n >= edge.credits:
                        waits.append(((name, n - edge.credits), (edge.src, (n + 1) * edge.every - 1)))
        for order in self.orders.values():
            count: Counter = Counter()
            line = []
            for name in order:
                line.append((name, count[name]))
                count[name] += 1
            waits += pairwise(line)
        order, cycle = topological_order(nodes, waits)
        if cycle:
            words = " -> ".join(f"{name}[{n}]" for name, n in (*cycle, cycle[0]))
            raise ValueError(f"deadlock, each firing waits for the one before: {words}; more credits or another order?")
        return order

    def __str__(self) -> str:
        lines = []
        for rank in self.ranks:
            names = (f"{t.name} x{t.firings}" if t.firings > 1 else t.name for t in self.tasks if t.rank == rank)
            lines.append(f"rank {rank}: {', '.join(names)}")
            if rank in self.orders:
                lines.append(f"  in order: {' '.join(self.orders[rank])}")
        for edge in self.edges:
            every = f", every {edge.every}" if edge.every > 1 else ""
            lines.append(f"{edge.name}: {edge.src} -> {', '.join(edge.dst)} ({edge.credits} registers{every})")
        return "\n".join(lines)
