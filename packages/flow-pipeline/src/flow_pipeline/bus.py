"""The bus carries out `Send` and `GiveBack`: inside the process by a queue, to other ranks over a communicator.

A message to another rank is a header of fixed size, the rest of the description if it is longer, and the bytes of each
array; every reader of an edge has its own tags. Receives for arrays are posted when their header has come, so nothing
waits for a buffer inside the communicator, and a large array is copied once at most.
"""

from collections import deque

import numpy as np

from flow_pipeline.actor import Event, Filled, GiveBack, Returned, Send
from flow_pipeline.payload import pack, unpack
from flow_pipeline.plan import Edge, Plan
from flow_sbp.comm import Comm, Request

HEADER_BYTES = 512
"""The description's length (8 bytes), then its beginning."""


class Bus:
    """Delivers between the tasks of `plan` on this rank of `comm` and all others; without `comm` all tasks are here.

    Uses the tags `tag` .. `tag + 3 * (number of edge readers)` of `comm`; `tag` itself is left to `Control`.
    """

    def __init__(self, plan: Plan, comm: Comm | None, tag: int):
        self.events: deque[Event] = deque()
        self.ranks = plan.ranks if comm is None else (comm.rank,)
        self.local = {task.name for task in plan.tasks if task.rank in self.ranks}
        self.outgoing: dict[tuple[str, str], Outgoing] = {}
        self.incoming: dict[tuple[str, str], Incoming] = {}
        links = [(edge, reader) for edge in plan.edges for reader in edge.dst]
        for number, (edge, reader) in enumerate(links):
            key, tags = (edge.name, reader), tag + 1 + 3 * number
            num_messages = plan.task[reader].firings
            src, dst = plan.task[edge.src].rank, plan.task[reader].rank
            if comm is not None and src != dst:
                if src == comm.rank:
                    self.outgoing[key] = Outgoing(comm, dst, tags, edge, reader, num_messages)
                elif dst == comm.rank:
                    self.incoming[key] = Incoming(comm, src, tags, edge, reader, num_messages)

    def start(self) -> None:
        """Expect the messages of one more run."""
        for channel in (*self.outgoing.values(), *self.incoming.values()):
            channel.start()

    def deliver(self, instruction: Send | GiveBack) -> None:
        """Carry out `instruction`. TypeError if a value cannot travel to another rank."""
        match instruction:
            case Send(reader, edge, value):
                if reader in self.local:
                    self.events.append(Filled(reader, edge, value))
                else:
                    self.outgoing[edge, reader].send(value)
            case GiveBack(producer, edge, reader):
                if producer in self.local:
                    self.events.append(Returned(producer, edge, reader))
                else:
                    self.incoming[edge, reader].give_back()

    def poll(self) -> list[Event]:
        """What has come since; never waits."""
        for channel in self.incoming.values():
            self.events += channel.poll()
        for channel in self.outgoing.values():
            self.events += channel.poll()
        events = list(self.events)
        self.events.clear()
        return events

    @property
    def sent(self) -> bool:
        """Every array given to `deliver` may be written again."""
        return not any(channel.sending for channel in (*self.outgoing.values(), *self.incoming.values()))

    @property
    def quiet(self) -> bool:
        """Nothing is under way any more, neither messages nor registers."""
        return self.sent and not any(c.expected for c in (*self.outgoing.values(), *self.incoming.values()))


class Outgoing:
    """The way of one edge to one reader on another rank."""

    def __init__(self, comm: Comm, rank: int, tag: int, edge: Edge, reader: str, num_messages: int):
        self.comm, self.rank, self.tag = comm, rank, tag
        self.edge, self.reader, self.num_messages = edge, reader, num_messages
        self.expected = 0
        self.sending: deque[tuple[Request, np.ndarray]] = deque()
        self.back: Request | None = None
        self.token = np.zeros(1, np.uint8)

    def start(self) -> None:
        self.expected += self.num_messages

    def send(self, value) -> None:
        description, buffers = pack(value)
        whole = np.frombuffer(len(description).to_bytes(8, "little") + description, np.uint8)
        header = np.zeros(HEADER_BYTES, np.uint8)
        header[: len(whole)] = whole[:HEADER_BYTES]
        self._isend(header, self.tag)
        for buffer in (whole[HEADER_BYTES:], *buffers):
            if buffer.size:
                self._isend(buffer, self.tag + 1)

    def _isend(self, buffer: np.ndarray, tag: int) -> None:
        self.sending.append((self.comm.isend(buffer, self.rank, tag), buffer))

    def poll(self) -> list[Event]:
        while self.sending and self.sending[0][0].test():
            self.sending.popleft()
        events: list[Event] = []
        while self.expected:
            self.back = self.back or self.comm.irecv(self.token, self.rank, self.tag + 2)
            if not self.back.test():
                break
            self.back = None
            self.expected -= 1
            events.append(Returned(self.edge.src, self.edge.name, self.reader))
        return events


class Incoming:
    """The way of one edge from another rank to one reader here."""

    def __init__(self, comm: Comm, rank: int, tag: int, edge: Edge, reader: str, num_messages: int):
        self.comm, self.rank, self.tag = comm, rank, tag
        self.edge, self.reader, self.num_messages = edge, reader, num_messages
        self.expected = 0
        self.header = np.zeros(HEADER_BYTES, np.uint8)
        self.header_request: Request | None = None
        self.rest: tuple[Request, bytes, np.ndarray] | None = None
        self.arriving: deque[tuple[object, deque]] = deque()
        self.sending: deque[tuple[Request, np.ndarray]] = deque()

    def start(self) -> None:
        self.expected += self.num_messages

    def give_back(self) -> None:
        token = np.zeros(1, np.uint8)
        self.sending.append((self.comm.isend(token, self.rank, self.tag + 2), token))

    def poll(self) -> list[Event]:
        while self.sending and self.sending[0][0].test():
            self.sending.popleft()
        while self._poll_description():
            pass
        events: list[Event] = []
        while self.arriving:
            value, requests = self.arriving[0]
            while requests and requests[0].test():
                requests.popleft()
            if requests:
                break
            self.arriving.popleft()
            events.append(Filled(self.reader, self.edge.name, value))
        return events

    def _poll_description(self) -> bool:
        """Go one step on with the descriptions; False if there is nothing new."""
        if self.rest:
            request, begin, rest = self.rest
            if not request.test():
                return False
            self.rest = None
            self._post(begin + rest.tobytes())
            return True
        if not self.expected:
            return False
        self.header_request = self.header_request or self.comm.irecv(self.header, self.rank, self.tag)
        if not self.header_request.test():
            return False
        self.header_request = None
        self.expected -= 1
        whole = self.header.tobytes()
        size = int.from_bytes(whole[:8], "little")
        if size + 8 <= HEADER_BYTES:
            self._post(whole[8 : 8 + size])
        else:
            rest = np.empty(size + 8 - HEADER_BYTES, np.uint8)
            self.rest = (self.comm.irecv(rest, self.rank, self.tag + 1), whole[8:], rest)
        return True

    def _post(self, description: bytes) -> None:
        """Receive the arrays: MPI keeps the order of messages with one tag, so those of the next one come behind."""
        value, buffers = unpack(description)
        requests = (self.comm.irecv(buffer, self.rank, self.tag + 1) for buffer in buffers if buffer.size)
        self.arriving.append((value, deque(requests)))
