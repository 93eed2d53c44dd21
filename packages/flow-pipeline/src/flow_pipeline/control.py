"""Between the ranks of a plan, beside its data: the first error, and goodbye."""

import time
from collections.abc import Iterable

import numpy as np

from flow_sbp.comm import Comm

BYTES = 2048
GOODBYE = b"\x01"


class Control:
    """One receive from every other rank of the plan stays posted; each rank sends one message, an error or goodbye."""

    def __init__(self, comm: Comm | None, ranks: Iterable[int], tag: int):
        self.comm, self.tag = comm, tag
        self.peers = [] if comm is None else [rank for rank in ranks if rank != comm.rank]
        self.buffers = {rank: np.zeros(BYTES, np.uint8) for rank in self.peers}
        self.waiting = {rank: comm.irecv(self.buffers[rank], rank, tag) for rank in self.peers}
        self.sending: list = []

    def poll(self) -> str | None:
        """The error that another rank has reported, if one has; never waits."""
        self.sending = [(request, buffer) for request, buffer in self.sending if not request.test()]
        for rank, request in list(self.waiting.items()):
            if request.test():
                del self.waiting[rank]
                text = self.buffers[rank].tobytes().rstrip(b"\0")
                if text != GOODBYE:
                    return text.decode(errors="replace")
        return None

    def tell(self, text: bytes) -> None:
        """Send every other rank `text`, an error or `GOODBYE`; does not wait."""
        buffer = np.zeros(BYTES, np.uint8)
        text = text[:BYTES]
        buffer[: len(text)] = np.frombuffer(text, np.uint8)
        self.sending += [(self.comm.isend(buffer, rank, self.tag), buffer) for rank in self.peers]

    def fail(self, text: str, *, patience: float = 1.0) -> None:
        """Tell all others that this rank stops, and give the messages `patience` seconds to leave."""
        self.tell(text.encode())
        until = time.monotonic() + patience
        while self.sending and time.monotonic() < until:
            self.sending = [(request, buffer) for request, buffer in self.sending if not request.test()]
            time.sleep(1e-3)

    @property
    def parted(self) -> bool:
        """Every other rank has said goodbye, and has been told."""
        return not self.waiting and not self.sending
