"""What every MPI test leans on: ranks that find each other."""

import os

from mpi4py import MPI


def test_ranks_find_each_other():
    world = MPI.COMM_WORLD
    assert world.size == int(os.environ.get("PMI_SIZE", os.environ.get("OMPI_COMM_WORLD_SIZE", 0)))
    assert world.allgather(world.rank) == list(range(world.size))
