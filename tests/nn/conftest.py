"""Every test starts from one seed; a small text, and the command line as its user has it."""

import os
import subprocess
import sys

import numpy as np
import pytest

import flow_core as flow

TINY = [
    "--steps",
    "12",
    "--layers",
    "1",
    "--heads",
    "2",
    "--channels",
    "16",
    "--context",
    "16",
    "--checkpoint-every",
    "5",
]
ENVIRON = os.environ | {"FLOW_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class CommandLine:
    """python -m flow_nn in a folder of its own."""

    tiny = TINY  # arguments of a run of a second

    def __init__(self, folder):
        self.folder = folder

    def start(self, *args):
        """The command as a running process."""
        command = [sys.executable, "-m", "flow_nn", *map(str, args)]
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, env=ENVIRON, text=True, encoding="utf-8", **options)

    def run(self, *args):
        """(status, stdout, stderr) of the command."""
        with self.start(*args) as process:
            try:
                out, err = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, out, err

    def train(self, *args):
        """stdout of a training run that must succeed."""
        status, out, err = self.run("train", *self.tiny, *args)
        assert status == 0, err
        return out


@pytest.fixture(autouse=True)
def _seeded():
    flow.manual_seed(0)


@pytest.fixture
def command(tmp_path):
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def run_of_text(tmp_path_factory, text):
    """The folder of an uninterrupted run on the text, and what it printed. Read it, and write nothing there."""
    folder = tmp_path_factory.mktemp("run_of_text")
    out = CommandLine(folder).train("--text", text, "--out", "run", "--validate-every", 4)
    return folder / "run", out


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A text file of 5,000 characters, 30 different ones."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    letters = np.array(list("\nabcdefghijklmnopqrstuvwxyz ,é"))
    path.write_text("".join(letters[np.random.default_rng(0).integers(0, 30, 5000)]), encoding="utf-8")
    return path
