"""A tiny GPT trained on one rank or on the simulated world, what its ranks hold put together, and commands that start ranks."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

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
SETTINGS = "--layers 2 --channels 16 --heads 4 --context 16 --validate-every 4 --checkpoint-every 4".split()
LR = 1e-2
CONFIG = GPTConfig(vocab_size=11, block_size=8, num_layers=4, num_heads=4, num_channels=12)


class Training:
    """Runs of the command line's kind; `work(run)` is done on every rank."""

    corpus = Corpus("a text", "abcdefghijk", "digest", IDS[:900], IDS[900:])
    config = CONFIG

    def __init__(self, folder):
        self.folder = folder

    def make(self, mesh=Mesh(), comm=None, out="run", **settings):  # noqa: B008 - a frozen value
        """A Run with batches of 4 windows, whose first steps go far enough to be seen in the loss."""
        settings = Settings(batch_size=4, num_warmup=0, peak_lr=LR, **settings)
        return Run(self.corpus, self.config, settings, self.folder / out, mesh, comm)

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


@pytest.fixture(scope="session")
def needs_mpi():
    """Skips where ranks cannot be started."""
    pytest.importorskip("mpi4py")
    if not Path(sys.executable).with_name("mpiexec").exists() and shutil.which("mpiexec") is None:
        pytest.skip("there is no mpiexec (pip install mpich)")


class Started:
    """A training command in its own session, with its output in files: `process`, `pids` of its ranks, `out()` and `err()`."""

    def __init__(self, folder, *args, before=(sys.executable, "-m", "flow_nn")):
        self.folder = folder
        self.paths = [folder / "stdout.txt", folder / "stderr.txt"]
        with self.paths[0].open("wb") as out, self.paths[1].open("wb") as err:
            command = [*before, "train", *SETTINGS, *map(str, args)]
            options = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, "cwd": folder}
            self.process = subprocess.Popen(command, **options)

    def out(self):
        return self.paths[0].read_text(encoding="utf-8")

    def err(self):
        return self.paths[1].read_text(encoding="utf-8")

    @property
    def pids(self):
        """The process ids that it has printed, by rank."""
        return {int(rank): int(pid) for rank, pid in re.findall(r"^rank (\d+): pid (\d+)$", self.out(), re.M)}

    def wait(self, seconds=60):
        """The exit status."""
        return self.process.wait(timeout=seconds)

    def reach(self, num_ranks, path, seconds=60):
        """Waits until so many ranks have told their ids and a file or folder is there."""
        end = time.monotonic() + seconds
        while len(self.pids) < num_ranks or not path.exists():
            assert self.process.poll() is None, self.err()
            assert time.monotonic() < end, self.err()
            time.sleep(0.02)

    def close(self):
        """Ends what is left of it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pid in self.pids.values():
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def is_alive(pid):
    """Whether a process runs; one that has ended and that nobody has asked for its status does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip()[:1] not in ("", "Z")


@pytest.fixture(name="is_alive")
def is_alive_fixture():
    return is_alive


@pytest.fixture
def start(needs_mpi, tmp_path, text):
    """start(*args, before=...): a Started command on the small text, ended after the test at the latest."""
    begun = []

    def begin(*args, **options):
        folder = tmp_path / f"command_{len(begun)}"
        folder.mkdir()
        begun.append(Started(folder, "--text", text, *args, **options))
        return begun[-1]

    yield begin
    for command in begun:
        command.close()


@pytest.fixture(scope="session")
def whole(needs_mpi, tmp_path_factory, text):
    """A command that has trained on one rank for 8 steps, to compare with. Read its folder, and write nothing there."""
    command = Started(tmp_path_factory.mktemp("whole"), "--text", text, "--steps", 8, "--out", "run")
    assert command.wait() == 0, command.err()
    return command


@pytest.fixture
def renamed():
    """renamed(path): the checkpoint at `path` becomes one of a model whose ln_f.bias is named ln_f.bios, with sums that are right."""

    def rename(path):
        for file in path.glob("*"):
            file.write_bytes(file.read_bytes().replace(b"ln_f.bias", b"ln_f.bios"))
        index = json.loads((path / "checkpoint.json").read_text())
        index["crc32"] = {name: zlib.crc32((path / name).read_bytes()) for name in index["crc32"]}
        (path / "checkpoint.json").write_text(json.dumps(index))

    return rename
