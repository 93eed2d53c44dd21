"""A world of ranks in one process: mailboxes in memory, and `spmd`, which runs a function on every rank in a thread."""

import os
import sys
import threading
import time
import traceback
from collections import defaultdict, deque

import numpy as np


class Aborted(RuntimeError):
    """Raised in every rank that waits when another one has failed, or has called `abort`."""


class World:
    """The mailboxes of `size` simulated ranks; `world.comm(rank)` is a rank's communicator."""

    def __init__(self, size):
        self.size = size
        self.mail = defaultdict(deque)  # (src, dst, tag) -> arrays in the order sent
        self.bytes_sent = defaultdict(int)  # (src, dst) -> bytes of data
        self.changed = threading.Condition()
        self.aborted = None  # the reason
        self.waiting = {}  # rank -> what it waits for
        self.arrived, self.rounds = 0, 0  # of the barrier

    def comm(self, rank):
        """The communicator of a rank."""
        return SimComm(self, rank)

    def abort(self, reason):
        """Make every rank that waits raise Aborted."""
        with self.changed:
            self.aborted = self.aborted or reason
            self.changed.notify_all()

    def wait_for(self, rank, what, ready):
        """Block a rank until `ready()`; `what` is for the watchdog's report."""
        with self.changed:
            self.waiting[rank] = what
            while not ready():
                if self.aborted is not None:
                    raise Aborted(self.aborted)
                self.changed.wait()
            del self.waiting[rank]


class SimComm:
    """One simulated rank's communicator (see comm.Comm)."""

    def __init__(self, world, rank):
        self.world, self.rank, self.size = world, rank, world.size

    def isend(self, array, dst, tag):
        self._check(dst)
        with self.world.changed:
            self.world.mail[self.rank, dst, tag].append(np.array(array))
            if tag >= 0:
                self.world.bytes_sent[self.rank, dst] += array.nbytes
            self.world.changed.notify_all()
        return Sent()

    def irecv(self, array, src, tag):
        self._check(src)
        return Receiving(self, array, src, tag)

    def barrier(self):
        world = self.world
        with world.changed:
            round_ = world.rounds
            world.arrived += 1
            if world.arrived == world.size:
                world.arrived, world.rounds = 0, world.rounds + 1
                world.changed.notify_all()
        world.wait_for(self.rank, "in a barrier", lambda: world.rounds > round_)

    def abort(self, reason):
        self.world.abort(f"rank {self.rank}: {reason}")
        raise Aborted(self.world.aborted)

    def _check(self, peer):
        if not 0 <= peer < self.size:
            raise ValueError(f"rank {peer} is not in this world of {self.size} ranks")


class Sent:
    """A message that its mailbox already holds."""

    def test(self):
        return True

    def wait(self):
        pass


class Receiving:
    """A message that is taken from its mailbox once it is there, in the order waited for."""

    def __init__(self, comm, array, src, tag):
        self.comm, self.array, self.src, self.tag, self.ended = comm, array, src, tag, False

    def test(self):
        box = self.comm.world.mail[self.src, self.comm.rank, self.tag]
        if not self.ended and box:
            message = box.popleft()
            assert message.nbytes == self.array.nbytes, f"{self}: got {message.nbytes} bytes for {self.array.nbytes}"
            self.array[...] = message.reshape(self.array.shape)
            self.ended = True
        return self.ended

    def wait(self):
        self.comm.world.wait_for(self.comm.rank, str(self), self.test)

    def __str__(self):
        return f"for a message of {self.array.nbytes} bytes from rank {self.src}, tag {self.tag}"


def spmd(num_ranks, fn, *, timeout=30.0):
    """[fn(comm) of each rank], each run in a thread of its own; the ranks' exceptions end the others.

    Raises the lowest failing rank's exception, with the rank as a note. TimeoutError after `timeout` seconds says
    where each rank that has not returned stands.
    """
    if not isinstance(num_ranks, int) or num_ranks < 1:
        raise ValueError(f"num_ranks is a number of 1 or more, got {num_ranks!r}")
    world = World(num_ranks)
    results, errors = [None] * num_ranks, {}

    def run(rank):
        try:
            results[rank] = fn(world.comm(rank))
        except BaseException as error:
            errors[rank] = error
            world.abort(f"rank {rank} failed: {type(error).__name__}: {error}")

    threads = [
        threading.Thread(target=run, args=(rank,), name=f"rank {rank}", daemon=True) for rank in range(num_ranks)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    stuck = [rank for rank, thread in enumerate(threads) if thread.is_alive()]
    if stuck:
        report = "\n".join(_where(world, rank, threads[rank]) for rank in stuck)
        world.abort("the watchdog's time is over")
        raise TimeoutError(f"{len(stuck)} of {num_ranks} ranks have not returned after {timeout:g} s\n{report}")
    for rank in sorted(errors, key=lambda rank: (isinstance(errors[rank], Aborted), rank)):
        errors[rank].add_note(f"on rank {rank} of {num_ranks}")
        raise errors[rank]
    return results


def _where(world, rank, thread):
    """Where a rank stands: its own innermost line outside this package's and the standard library's waiting."""
    frame = sys._current_frames().get(thread.ident)
    stack = traceback.extract_stack(frame) if frame else []
    here = os.path.dirname(__file__)
    own = [f for f in stack if os.path.dirname(f.filename) != here and f.filename != threading.__file__]
    line = f"{os.path.basename(own[-1].filename)}:{own[-1].lineno} in {own[-1].name}" if own else "an unknown place"
    return f"rank {rank} at {line}, waiting {world.waiting.get(rank, 'for nothing of ours (it computes)')}"
