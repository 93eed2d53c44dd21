"""What ranks are told about the machine, and what they leave behind."""

import os
import sys
import time
from pathlib import Path

import pytest

from flow_nn import launch

THREADS = ("FLOW_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

# An mpiexec that notes what it was started with, then does what the test's text says.
FAKE = """#!/bin/sh
echo "$*" >{folder}/arguments
env >{folder}/environment
{script}
"""


@pytest.mark.parametrize(
    ("cores", "num_ranks", "threads"), [(2, 1, 2), (2, 2, 1), (2, 4, 1), (8, 3, 2), (8, 2, 4), (8, 8, 1), (8, 9, 1)]
)
def test_ranks_share_the_cores(monkeypatch, cores, num_ranks, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    variables = launch.environment_of(num_ranks)
    assert {name: variables[name] for name in THREADS} == dict.fromkeys(THREADS, str(threads))
    assert ("MPIR_CVAR_ENABLE_HEAVY_YIELD" in variables) == (num_ranks > cores)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_a_rank_has_its_share_of_the_cores(start):
    command = start("--dp", 2, "--steps", 100_000, "--out", "run")
    command.reach(2, command.folder / "run/metrics.jsonl")
    expected = str(max(len(os.sched_getaffinity(0)) // 2, 1))
    for pid in command.pids.values():
        environment = dict(
            line.split("=", 1) for line in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in line
        )
        assert {environment[name] for name in THREADS} == {expected}


@pytest.fixture
def faked(tmp_path, monkeypatch):
    """faked(script): the status of start_ranks(2, ...) under an mpiexec that runs the script, and how it was started."""

    def run(script):
        path = tmp_path / "mpiexec"
        path.write_text(FAKE.format(folder=tmp_path, script=script))
        path.chmod(0o755)
        monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
        monkeypatch.setattr("flow_nn.launch.find_spec", lambda name: name)
        status = launch.start_ranks(2, ["train", "--dp", "2"])
        return status, (tmp_path / "arguments").read_text(), (tmp_path / "environment").read_text()

    return run


NOTES = 'for r in 0 1; do echo 12$r >"$FLOW_NOTES/rank_$r"; done\n'


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ('touch "$FLOW_NOTES/done_0" "$FLOW_NOTES/done_1"', 0, ""),
        ('touch "$FLOW_NOTES/done_0"; echo 0 >"$FLOW_NOTES/ended_1"', 1, "rank 1 (pid 121) ended with status 0"),
        ('touch "$FLOW_NOTES/done_0"', 1, "a rank ended before its time, one of 1"),
        ('echo 137 >"$FLOW_NOTES/ended_0"; exit 137', 1, "rank 0 (pid 120) was killed by signal 9"),
        ('echo 139 >"$FLOW_NOTES/ended_1"; exit 11', 1, "rank 1 (pid 121) was killed by signal 11"),
        ('echo 1 >"$FLOW_NOTES/failed_1"; exit 1', 1, "rank 1 (pid 121) ended with status 1"),
        ('echo "Abort(7) on node 1 (rank 1 in comm 0)" >&2; exit 7', 1, "rank 1 (pid 121) ended with an error of MPI"),
        ('echo 2 >"$FLOW_NOTES/failed_0"; exit 2', 2, ""),
        ("exit 2", 1, "a rank ended before its time, one of 0, 1"),
    ],
    ids=["well", "os._exit(0)", "no note", "killed", "crashed", "failed", "MPI", "refused", "2 of another's"],
)
def test_the_status_and_the_last_line_say_how_the_ranks_ended(faked, capfd, script, status, said):
    found, arguments, environment = faked(NOTES + script)
    assert found == status
    err = capfd.readouterr().err
    line = f"flow_nn: {said}; go on from the last checkpoint with --resume\n"
    assert err.endswith(line) if said else err == ""
    assert arguments.startswith("-n 2 ")
    assert arguments.endswith(f" {sys.executable} -m mpi4py -m flow_nn train --dp 2\n")
    assert "FLOW_NUM_THREADS=" in environment


def test_of_several_ranks_that_ended_the_first_is_named(faked, capfd):
    script = 'echo 137 >"$FLOW_NOTES/ended_1"; sleep 0.05; echo 137 >"$FLOW_NOTES/ended_0"; exit 9'
    assert faked(NOTES + script)[0] == 1
    assert "rank 1 (pid 121) was killed by signal 9" in capfd.readouterr().err


def test_a_line_of_progress_is_ended_before_the_next(faked, capfd):
    faked(NOTES + 'printf "50%% done" >&2; echo 137 >"$FLOW_NOTES/ended_1"; exit 9')
    assert capfd.readouterr().err.startswith("50% done\nflow_nn: rank 1")


@pytest.mark.parametrize(
    "names", [*zip(launch.RANK_VARIABLES, launch.SIZE_VARIABLES, strict=True)], ids=lambda names: names[0]
)
def test_every_launcher_tells_a_rank_its_number(monkeypatch, names):
    for name in (*launch.RANK_VARIABLES, *launch.SIZE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    assert launch.ranks_given() is None
    monkeypatch.setenv(names[0], "3")
    assert launch.ranks_given() is None
    monkeypatch.setenv(names[1], "4")
    assert launch.ranks_given() == (3, 4)


def test_an_mpiexec_that_misses_the_end_of_a_rank_is_ended(faked, capfd):
    begin = time.monotonic()
    assert faked(NOTES + 'echo 137 >"$FLOW_NOTES/ended_1"; exec sleep 60')[0] == 1
    assert time.monotonic() - begin < 10
    assert "rank 1 (pid 121) was killed by signal 9" in capfd.readouterr().err
