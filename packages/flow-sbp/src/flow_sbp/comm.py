"""What a plan needs of a communicator: nonblocking messages, matched by (source, tag) in the order sent."""

from typing import Protocol

import numpy as np

CONTROL = -1  # the tag of what ranks tell each other about the work; data travels under tags >= 0


class Request(Protocol):
    """A message under way."""

    def test(self) -> bool:
        """Whether it has ended; never waits."""

    def wait(self) -> None:
        """Wait until it has ended."""


class Comm(Protocol):
    """A rank's end of a communicator. Arrays are contiguous numpy arrays of plain dtypes (bf16 as uint16 words)."""

    rank: int
    # which rank this is
    size: int
    # how many there are

    def isend(self, array: np.ndarray, dst: int, tag: int) -> Request:
        """Begin to send; the array must not change until the request has ended."""

    def irecv(self, array: np.ndarray, src: int, tag: int) -> Request:
        """Begin to receive into the array, whose size is the message's."""

    def barrier(self) -> None:
        """Wait for every rank."""

    def abort(self, reason: str) -> None:
        """End every rank, with the reason; does not return."""


class Counting:
    """A communicator that counts what this rank sends through it: `bytes_sent` of data, and `num_messages`."""

    def __init__(self, comm):
        self.comm, self.rank, self.size = comm, comm.rank, comm.size
        self.bytes_sent = self.num_messages = 0

    def isend(self, array, dst, tag):
        if tag >= 0:
            self.bytes_sent += array.nbytes
            self.num_messages += 1
        return self.comm.isend(array, dst, tag)

    def irecv(self, array, src, tag):
        return self.comm.irecv(array, src, tag)

    def barrier(self):
        self.comm.barrier()

    def abort(self, reason):
        self.comm.abort(reason)


_TEXT_BYTES = 1024


def agree(comm, ranks, problem):
    """Raise ValueError on all of `ranks` alike if any has a problem (text or None); each of them must call this.

    Two small messages a rank, by way of the lowest; they are not data, so no plan counts them.
    """
    leader, mine = ranks[0], _text(f"rank {comm.rank}: {problem}" if problem else "")
    if comm.rank == leader:
        notes = {rank: np.zeros(_TEXT_BYTES, np.uint8) for rank in ranks[1:]}
        for request in [comm.irecv(note, rank, CONTROL) for rank, note in notes.items()]:
            request.wait()
        mine = next((note for note in (mine, *notes.values()) if note.any()), mine)
        for request in [comm.isend(mine, rank, CONTROL) for rank in ranks[1:]]:
            request.wait()
    else:
        comm.isend(mine, leader, CONTROL).wait()
        mine = np.zeros(_TEXT_BYTES, np.uint8)
        comm.irecv(mine, leader, CONTROL).wait()
    if mine.any():
        raise ValueError(mine.tobytes().rstrip(b"\0").decode(errors="ignore"))


def _text(text):
    note = np.zeros(_TEXT_BYTES, np.uint8)
    data = text.encode()[:_TEXT_BYTES]
    note[: len(data)] = np.frombuffer(data, np.uint8)
    return note
