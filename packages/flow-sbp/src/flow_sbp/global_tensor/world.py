"""The communicator of this thread: of the process under MPI, of one simulated rank in a thread of `spmd`."""

import threading


class World(threading.local):
    """Holds the thread's communicator."""

    comm = None


world = World()


def set_comm(comm):
    """Makes `comm` this thread's communicator, which global tensors made here use."""
    world.comm = comm


def current_comm():
    """This thread's communicator; ValueError if none was set."""
    comm = world.comm
    if comm is None:
        raise ValueError(
            "there is no communicator: call flow_sbp.global_tensor.set_comm(comm) first, as with flow_sbp.mpi.MpiComm()"
        )
    return comm
