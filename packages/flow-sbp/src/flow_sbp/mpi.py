"""MpiComm: a communicator over mpi4py. Arrays travel as raw bytes, in parts of at most 1 GiB; nothing is pickled.

Start ranks with `mpiexec -n N python -m mpi4py script.py`, so that an exception in one ends them all.
"""

import sys

import numpy as np
from mpi4py import MPI

PART_BYTES = 1 << 30  # some MPIs count bytes in 31 bits
_CONTROL_TAG = 32767  # the largest tag that every MPI has; negative ones are not allowed


class MpiComm:
    """A rank's communicator (see comm.Comm) over an mpi4py communicator, of which it takes a private copy."""

    def __init__(self, comm=None):
        self.mpi = (MPI.COMM_WORLD if comm is None else comm).Dup()
        self.rank, self.size = self.mpi.Get_rank(), self.mpi.Get_size()

    def isend(self, array, dst, tag):
        self._check(dst)
        return Parts([self.mpi.Isend([part, MPI.BYTE], dst, _tag(tag)) for part in _parts(array)], array)

    def irecv(self, array, src, tag):
        self._check(src)
        return Parts([self.mpi.Irecv([part, MPI.BYTE], src, _tag(tag)) for part in _parts(array)], array)

    def barrier(self):
        self.mpi.Barrier()

    def abort(self, reason):
        print(f"rank {self.rank}: {reason}", file=sys.stderr, flush=True)
        self.mpi.Abort(1)

    def _check(self, peer):
        if not 0 <= peer < self.size:
            raise ValueError(f"rank {peer} is not in this world of {self.size} ranks")


class Parts:
    """The parts of one message under way; keeps the array alive."""

    def __init__(self, requests, array):
        self.requests, self.array = requests, array

    def test(self):
        return MPI.Request.Testall(self.requests)

    def wait(self):
        MPI.Request.Waitall(self.requests)


def _parts(array):
    """The array's bytes as views of at most PART_BYTES; one part, if empty, for an empty array."""
    flat = array.reshape(-1).view(np.uint8)
    return [flat[i : i + PART_BYTES] for i in range(0, max(flat.size, 1), PART_BYTES)]


def _tag(tag):
    return tag if tag >= 0 else _CONTROL_TAG + tag + 1
