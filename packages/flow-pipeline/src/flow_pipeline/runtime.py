"""Run a plan: this rank's actors, one thread, messages that never block, and an end for everybody if one fails."""

import heapq
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from flow_pipeline.actor import Act, Crew, Done, Event, Instruction
from flow_pipeline.bus import Bus
from flow_pipeline.control import GOODBYE, Control
from flow_pipeline.plan import Plan
from flow_sbp.comm import Comm

TAG = 1 << 14
"""The first of the tags that a runtime uses. Two runtimes alive on one communicator need ranges that do not meet."""

SPINS = 50
"""Looks for messages before the rank begins to sleep between two looks."""
LONGEST_SLEEP = 5e-4


class PipelineError(RuntimeError):
    """A task, or its rank, failed; the same error is raised on every rank of the plan that is in the runtime."""


class StallError(PipelineError):
    """Nothing happened for `timeout` seconds."""


def run(
    plan: Plan,
    functions: Mapping[str, Callable],
    comm: Comm | None = None,
    *,
    inputs: Mapping[str, Sequence] | None = None,
    keep: Iterable[str] = (),
    timeout: float | None = None,
    tag: int = TAG,
) -> dict[str, Any]:
    """Run `plan` once; see `Runtime`, which runs it many times."""
    with Runtime(plan, functions, comm, timeout=timeout, tag=tag) as runtime:
        return runtime.run(inputs, keep)


class Runtime:
    """The tasks of `plan` that are on this rank of `comm`, ready to run again and again: once a training step, say.

    - `functions[task](index, *inputs)` performs firing `index` of `task`. `inputs` are the values of the edges that it
      reads, in the plan's order. It returns the values of the edges that it fills, in the plan's order: one value for
      one edge, a tuple for several. Only this rank's tasks are looked up.
    - Without `comm`, all tasks run in this process, whatever their ranks.
    - Values within a rank are handed on as they are; those to other ranks are what `flow_pipeline.payload.pack` takes:
      numpy arrays of any dtype and shape, in lists, tuples, dicts. An array handed out must not change until `run`
      ends.
    - If a function raises, every rank in `run` or `close` raises a `PipelineError` that names the task. Start MPI
      programs by `python -m mpi4py`, so that the ranks that are elsewhere end as well.
    - `timeout`: seconds in which this rank neither acts nor receives anything, after which it raises a `StallError`
      that says which task waits for what. It must be longer than the longest act of any rank.

    Leave it by `close` on every rank, or use it as a context manager. ValueError for a plan that does not verify, for
    a task without a function, and for ranks that `comm` does not have.
    """

    def __init__(
        self,
        plan: Plan,
        functions: Mapping[str, Callable],
        comm: Comm | None = None,
        *,
        timeout: float | None = None,
        tag: int = TAG,
    ):
        if comm is not None and plan.ranks[-1] >= comm.size:
            raise ValueError(f"the plan has tasks on rank {plan.ranks[-1]}, the communicator has {comm.size} ranks")
        plan.verify()
        self.plan, self.comm, self.timeout = plan, comm, timeout
        here = plan.ranks if comm is None else [rank for rank in plan.ranks if rank == comm.rank]
        self.crews = {rank: Crew(plan, rank) for rank in here}
        own = [task.name for task in plan.tasks if task.rank in self.crews]
        if missing := [name for name in own if name not in functions]:
            raise ValueError(f"no function is given for {', '.join(missing)}")
        self.functions = {name: functions[name] for name in own}
        self.bus = Bus(plan, comm, tag)
        self.control = Control(comm, plan.ranks if here else (), tag)
        self.failed: str | None = None
        self.last_progress = time.monotonic()
        self._ready: list[tuple[int, int, Act]] = []
        self._ticket = count()

    def run(self, inputs: Mapping[str, Sequence] | None = None, keep: Iterable[str] = ()) -> dict[str, Any]:
        """Fire every task as often as the plan says, and return what the tasks that fill no edge returned.

        The result has such a task's last value, or the list of all if its name is in `keep`: without `keep`, memory
        does not grow with the number of firings. `inputs[task][index]` is an extra argument, the first after the index;
        names of other ranks' tasks are ignored, so that all ranks may make the same call. Returns when this rank is
        through; no array that its functions handed out is under way then.
        """
        if self.failed:
            raise PipelineError(f"this runtime has ended: {self.failed}")
        inputs, keep = inputs or {}, set(keep)
        for name in (*inputs, *keep):
            if name not in self.plan.task:
                raise ValueError(f"inputs and keep name tasks of the plan; there is no {name!r}")
            if name in inputs and len(inputs[name]) != self.plan.task[name].firings:
                raise ValueError(f"{name} fires {self.plan.task[name].firings} times, got {len(inputs[name])} inputs")
            if name in keep and self.plan.outputs[name]:
                raise ValueError(f"keep names tasks that fill no edge; {name} fills {self._filled_by(name)}")
        results: dict[str, Any] = {name: [] for name in self.functions if name in keep}
        self.bus.start()
        for crew in self.crews.values():
            self._perform(crew.start())
        self._loop(lambda: self._finished, lambda act: self._act(act, inputs, keep, results))
        return results

    def close(self) -> None:
        """Wait until every rank of the plan closes; nothing is under way on the communicator then."""
        if not self.failed:
            self._loop(lambda: self.bus.quiet, None)
            self.control.tell(GOODBYE)
            self._loop(lambda: self.control.parted, None)
            self.failed = "it was closed"

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if error is None:
            self.close()
        elif not self.failed:
            self._fail(f"rank {self._rank} left: {kind.__name__}: {error}")

    def where(self) -> str:
        """Where this rank stands: for each of its tasks, what it waits for."""
        return "\n".join(f"rank {rank}: {line}" for rank, crew in self.crews.items() for line in str(crew).split("\n"))

    @property
    def _rank(self) -> int:
        return 0 if self.comm is None else self.comm.rank

    @property
    def _finished(self) -> bool:
        return all(crew.finished for crew in self.crews.values()) and not self.bus.events and self.bus.sent

    def _loop(self, finished: Callable[[], bool], act: Callable[[Act], None] | None) -> None:
        """Take in what comes and act on what is ready, furthest along the edges first, until `finished`."""
        idle = 0
        self.last_progress = time.monotonic()
        while not finished():
            events = self.bus.poll()
            for event in events:
                self._handle(event)
            if self._ready and act:
                act(heapq.heappop(self._ready)[2])
            elif not events:
                idle += 1
                self._wait(idle)
                continue
            idle = 0
            self.last_progress = time.monotonic()

    def _wait(self, idle: int) -> None:
        """Nothing to do: look for trouble, then leave the core to others, longer each time."""
        if text := self.control.poll():
            self.failed = text
            raise PipelineError(text)
        if self.timeout is not None and time.monotonic() - self.last_progress > self.timeout:
            where = self.where() or "it waits for the others"
            text = f"rank {self._rank} made no progress for {self.timeout:g} s:\n{where}"
            self._fail(text)
            raise StallError(text)
        time.sleep(0 if idle < SPINS else min(1e-5 * (idle - SPINS), LONGEST_SLEEP))

    def _act(self, act: Act, inputs: Mapping[str, Sequence], keep: set[str], results: dict[str, Any]) -> None:
        task = self.plan.task[act.task]
        try:
            given = (inputs[act.task][act.index],) if act.task in inputs else ()
            value = self.functions[act.task](act.index, *given, *act.inputs)
            self._handle(Done(act.task, self._outputs(act.task, value)))
        except Exception as error:
            text = f"task {task.name!r}, firing {act.index}, on rank {task.rank}: {type(error).__name__}: {error}"
            self._fail(text)
            raise PipelineError(text) from error
        if act.task in keep:
            results[act.task].append(value)
        elif not self.plan.outputs[act.task]:
            results[act.task] = value

    def _outputs(self, name: str, value: Any) -> tuple:
        num = len(self.plan.outputs[name])
        if num < 2:
            return (value,) * num
        if not isinstance(value, tuple) or len(value) != num:
            got = f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a {type(value).__name__}"
            raise TypeError(f"{name} returns a tuple with a value for each of {self._filled_by(name)}, got {got}")
        return value

    def _filled_by(self, name: str) -> str:
        return ", ".join(edge.name for edge in self.plan.outputs[name])

    def _handle(self, event: Event) -> None:
        self._perform(self.crews[self.plan.task[event.task].rank].handle(event))

    def _perform(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Act):
                place = -self.plan.depth[instruction.task]
                heapq.heappush(self._ready, (place, next(self._ticket), instruction))
            else:
                self.bus.deliver(instruction)

    def _fail(self, text: str) -> None:
        self.failed = text
        self.control.fail(text)
