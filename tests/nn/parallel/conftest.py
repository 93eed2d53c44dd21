"""A tiny GPT trained on one rank or on the simulated world, and what its ranks hold put together."""

import numpy as np
import pytest

import flow_core as flow
from flow_nn.models.gpt import GPT, GPTConfig
from flow_nn.parallel import Mesh
from flow_nn.run import Run, Settings
from flow_nn.text import Corpus
from flow_sbp import spmd
from flow_sbp.global_tensor import GlobalTensor, set_comm

IDS = np.random.default_rng(0).integers(0, 11, 1000)
CONFIG = GPTConfig(vocab_size=11, block_size=8, num_layers=4, num_heads=4, num_channels=12)


class Training:
    """Runs of the command line's kind; `work(run)` is done on every rank."""

    corpus = Corpus("a text", "abcdefghijk", "digest", IDS[:900], IDS[900:])
    config = CONFIG

    def __init__(self, folder):
        self.folder = folder

    def make(self, mesh=Mesh(), comm=None, out="run", **settings):  # noqa: B008 - a frozen value
        """A Run with batches of 4 windows."""
        return Run(self.corpus, self.config, Settings(batch_size=4, **settings), self.folder / out, mesh, comm)

    def alone(self, work, **options):
        """work(run) on one rank."""
        return work(self.make(**options))

    def over(self, mesh, work, **options):
        """[work(run) of each rank] of a simulated world."""

        def rank(comm):
            set_comm(comm)
            run = self.make(mesh, comm, **options)
            result = work(run)
            run.take_step.close()
            return result

        return spmd(mesh.size, rank, timeout=60)


@pytest.fixture
def weights():
    """Those of a GPT, as arrays by name."""
    flow.manual_seed(1337)
    return {name: t.numpy() for name, t in GPT(CONFIG).state_dict().items()}


@pytest.fixture
def training(tmp_path, monkeypatch, weights):
    def drawn(config):  # not by the default generator, which is one for all threads
        model = GPT(config)
        model.load_state_dict(weights)
        return model

    monkeypatch.setattr("flow_nn.run.GPT", drawn)
    return Training(tmp_path)


def held(tensors):
    """{name: (array, where it begins in the whole, the whole's shape)} of what a rank holds of tensors, plain or global, by name."""
    pieces = {}
    for name, t in tensors.items():
        if not isinstance(t, GlobalTensor):
            pieces[name] = (t.numpy().copy(), (0,) * t.ndim, t.shape)
        elif t.shard is not None:
            start = tuple(s.start for s in t.layout.local_slices(t.comm.rank))
            pieces[name] = (t.shard.numpy().copy(), start, t.shape)
    return pieces


def joined(ranks):
    """{name: array} of what ranks hold; where several hold the same elements, they must hold the same bits."""
    whole, filled = {}, {}
    for pieces in ranks:
        for name, (array, start, shape) in pieces.items():
            value = whole.setdefault(name, np.zeros(shape, array.dtype))
            full = filled.setdefault(name, np.zeros(shape, bool))
            at = tuple(slice(a, a + n) for a, n in zip(start, array.shape, strict=True))
            before = full[at]
            assert np.array_equal(value[at][before], array[before]), f"copies of {name} differ"
            value[at], full[at] = array, True
    assert all(full.all() for full in filled.values())
    return whole


@pytest.fixture(name="held")
def held_fixture():
    return held


@pytest.fixture(name="joined")
def joined_fixture():
    return joined
