"""The actor: a state machine for one task, `handle(event) -> instructions`. No thread, no message, no clock in it.

It acts when every input register is full and every output register is free, sends its readers what it made, and sends
the registers that it read back. Back-pressure, depth and freedom from deadlock follow from the counts of registers.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

from flow_pipeline.plan import Plan, Task
from flow_pipeline.register import Registers


@dataclass(frozen=True, slots=True)
class Start:
    """Event: `task` shall fire as many times as a run has, once more."""

    task: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Event: in the order of its rank, it is `task`'s turn to fire once."""

    task: str


@dataclass(frozen=True, slots=True)
class Filled:
    """Event: a register of `edge`, with `value` in it, has come to the reader `task`."""

    task: str
    edge: str
    value: Any


@dataclass(frozen=True, slots=True)
class Returned:
    """Event: `reader` has sent a register of `edge` back to its producer `task`."""

    task: str
    edge: str
    reader: str


@dataclass(frozen=True, slots=True)
class Done:
    """Event: the act of `task` has ended; `outputs` has a value for each edge that it fills."""

    task: str
    outputs: tuple


@dataclass(frozen=True, slots=True)
class Act:
    """Instruction: perform firing `index` (0-based within the run) of `task` on `inputs`, then report `Done`."""

    task: str
    index: int
    inputs: tuple


@dataclass(frozen=True, slots=True)
class Send:
    """Instruction: deliver `value` as `Filled(reader, edge, value)`; those of one edge and reader in order."""

    reader: str
    edge: str
    value: Any


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Instruction: deliver `Returned(producer, edge, reader)`."""

    producer: str
    edge: str
    reader: str


Event = Start | Turn | Filled | Returned | Done
Instruction = Act | Send | GiveBack


class Actor:
    """The state of one task of a plan. `in_order`: it also waits for a `Turn` before each act."""

    def __init__(self, plan: Plan, task: Task, *, in_order: bool = False):
        self.plan = plan
        self.task = task
        self.in_order = in_order
        self.inbox = {edge.name: deque() for edge in plan.inputs[task.name]}
        self.registers = {edge.name: Registers(edge) for edge in plan.outputs[task.name]}
        self.allowed = self.fired = self.turns = 0
        self.acting = False

    def handle(self, event: Event) -> list[Instruction]:
        """What is to be done now that `event` has happened."""
        instructions: list[Instruction] = []
        match event:
            case Filled(_, edge, value):
                self.inbox[edge].append(value)
            case Returned(_, edge, reader):
                self.registers[edge].take_back(reader)
            case Done(_, outputs):
                instructions += self._end(outputs)
            case Turn():
                self.turns += 1
            case Start():
                self.allowed += self.task.firings
        if self.ready:
            instructions.append(self._begin())
        return instructions

    @property
    def due(self) -> list[Registers]:
        """The registers of the edges that the next firing fills."""
        return [r for r in self.registers.values() if (self.fired + 1) % r.edge.every == 0]

    @property
    def ready(self) -> bool:
        return (
            not self.acting
            and self.fired < self.allowed
            and (self.turns > 0 or not self.in_order)
            and all(self.inbox.values())
            and all(registers.free for registers in self.due)
        )

    @property
    def finished(self) -> bool:
        return self.fired == self.allowed

    def _begin(self) -> Act:
        self.acting = True
        self.turns -= self.in_order
        for registers in self.due:
            registers.claim()
        inputs = tuple(values[0] for values in self.inbox.values())
        return Act(self.task.name, self.fired % self.task.firings, inputs)

    def _end(self, outputs: tuple) -> list[Instruction]:
        """The readers' registers go back only now: until the act has ended, it reads them."""
        instructions: list[Instruction] = []
        due = {registers.edge.name for registers in self.due}
        for edge, value in zip(self.plan.outputs[self.task.name], outputs, strict=True):
            if edge.name in due:
                instructions += [Send(reader, edge.name, value) for reader in edge.dst]
        for name, values in self.inbox.items():
            values.popleft()
            instructions.append(GiveBack(self.plan.edge[name].src, name, self.task.name))
        self.acting = False
        self.fired += 1
        return instructions

    def __str__(self) -> str:
        """Where it stands and what it waits for."""
        name, run = self.task.name, self.task.firings
        where = f"{name} has fired {self.fired - (self.allowed - run) if self.allowed else 0} of {run} times"
        if self.finished:
            return f"{where} and is through"
        if self.acting:
            return f"{where} and is at work"
        waits = [
            f"a register of {edge!r} from {self._at(self.plan.edge[edge].src)}"
            for edge, values in self.inbox.items()
            if not values
        ]
        waits += [
            f"{self._at(reader)} to send a register of {registers.edge.name!r} back"
            for registers in self.due
            if not registers.free
            for reader in registers.held_by
        ]
        if self.in_order and not self.turns:
            waits.append("its turn in the order of its rank")
        return f"{where} and waits for {', for '.join(waits)}"

    def _at(self, task: str) -> str:
        return f"{task} (rank {self.plan.task[task].rank})"


class Crew:
    """The actors of one rank, and the order imposed on them: who is named next has the turn."""

    def __init__(self, plan: Plan, rank: int):
        self.order = plan.orders.get(rank, ())
        self.place = 0
        self.left = 0
        tasks = [task for task in plan.tasks if task.rank == rank]
        self.actors = {task.name: Actor(plan, task, in_order=task.name in self.order) for task in tasks}

    def start(self) -> list[Instruction]:
        """Begin one more run: what the actors want done first."""
        instructions = [i for name, actor in self.actors.items() for i in actor.handle(Start(name))]
        self.left += len(self.order)
        if self.left == len(self.order):
            instructions += self._next_turn()
        return instructions

    def handle(self, event: Event) -> list[Instruction]:
        """What is to be done now that `event` has happened to the actor `event.task`."""
        actor = self.actors[event.task]
        instructions = actor.handle(event)
        if isinstance(event, Done) and actor.in_order:
            self.place += 1
            self.left -= 1
            instructions += self._next_turn()
        return instructions

    def _next_turn(self) -> list[Instruction]:
        if not self.left:
            return []
        name = self.order[self.place % len(self.order)]
        return self.actors[name].handle(Turn(name))

    @property
    def finished(self) -> bool:
        return all(actor.finished for actor in self.actors.values())

    def __str__(self) -> str:
        return "\n".join(map(str, self.actors.values()))
