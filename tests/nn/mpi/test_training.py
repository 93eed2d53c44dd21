"""A run over MPI, on as many ranks as there are: losses, and checkpoints from mesh to mesh."""

from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from flow_nn.models.gpt import GPTConfig
from flow_nn.parallel import Mesh
from flow_nn.run import Run, Settings
from flow_nn.text import Corpus
from flow_sbp.global_tensor import set_comm
from flow_sbp.mpi import MpiComm

COMM = MpiComm()
SIZE = COMM.size
IDS = np.random.default_rng(0).integers(0, 11, 1000)
CORPUS = Corpus("a text", "abcdefghijk", "digest", IDS[:900], IDS[900:])
CONFIG = GPTConfig(vocab_size=11, block_size=8, num_layers=4, num_heads=4, num_channels=12)
MESHES = [Mesh(dp=SIZE), Mesh(tp=SIZE), Mesh(pp=SIZE)] + ([Mesh(2, 2, 1), Mesh(2, 1, 2), Mesh(1, 2, 2)] * (SIZE == 4))


@pytest.fixture
def folder(tmp_path):
    """Rank 0's, on every rank."""
    set_comm(COMM)
    return Path(COMM.mpi.bcast(str(tmp_path)))


def made(folder, mesh=None):
    """A Run on the mesh, or on this rank alone."""
    placed = {} if mesh is None else {"mesh": mesh, "comm": COMM}
    return Run(CORPUS, CONFIG, Settings(batch_size=4, num_microbatches=2), folder, **placed)


def steps(run, count):
    return [run.train_step() for _ in range(count)]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_a_run_goes_from_mesh_to_mesh_with_the_losses_of_one_rank(folder, mesh):
    alone = made(folder)
    expected = [*steps(alone, 4), alone.validate()]

    run = made(folder, mesh)
    losses = steps(run, 2)
    path = run.save()
    run.take_step.close()
    run = made(folder, MESHES[(MESHES.index(mesh) + 1) % len(MESHES)])
    run.restore(path)
    losses += [*steps(run, 2), run.validate()]
    run.take_step.close()

    assert len(set(COMM.mpi.allgather(tuple(losses)))) == 1
    assert losses == pytest.approx(expected, rel=1e-6)


def test_the_ranks_end_together():
    assert COMM.mpi.allreduce(1) == MPI.COMM_WORLD.size
