"""Ranks started by mpiexec: the tests of the folder mpi at 2, 3 and 4 ranks, and what happens when a rank fails."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
FOLDER = Path(__file__).parent
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")


def mpiexec(num_ranks: int, *args, timeout: float = 60) -> subprocess.CompletedProcess:
    command = [MPIEXEC, "-n", str(num_ranks), sys.executable, "-m", "mpi4py", *map(str, args)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    return subprocess.run(command, timeout=timeout, env=env, **options)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_the_runtime_works_over_mpi(num_ranks):
    done = mpiexec(num_ranks, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", FOLDER / "mpi" / "test_runtime.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout.strip().splitlines()[-1], done.stdout


def test_a_training_loop_ends_with_the_line_of_rank_0():
    done = mpiexec(4, FOLDER / "ranks" / "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "20 steps on 4 ranks equal the dense run\n"


@pytest.mark.parametrize("place", ["act", "step"])
def test_a_rank_that_fails_ends_all_within_seconds(place):
    start = time.monotonic()
    done = mpiexec(3, FOLDER / "ranks" / "fail.py", place)
    assert time.monotonic() - start < 10
    assert done.returncode != 0
    assert "not reached" not in done.stdout
    expected = (
        "task 'BW1', firing 2, on rank 1: ValueError: the weights are gone"
        if place == "act"
        else "OSError: no more disk"
    )
    assert expected in done.stderr
