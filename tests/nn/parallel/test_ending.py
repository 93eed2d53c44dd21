"""A rank that ends before its time ends all, within seconds, and is named; so does whoever interrupts the command."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from flow_nn import checkpoint
from flow_nn.launch import find_mpiexec

SECONDS = 10
ENDLESS = ["--steps", 100_000, "--out", "run"]
FAILING = Path(__file__).parent / "ranks/failing.py"


def assert_gone(pids, is_alive):
    """Every process ends in time, and no later."""
    end = time.monotonic() + SECONDS
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < end, f"{left} are left"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("victim", "mesh"),
    [(0, ["--dp", 2]), (1, ["--tp", 3]), (3, ["--dp", 2, "--pp", 2])],
    ids=["0 of dp", "1 of tp", "3 of pp"],
)
def test_a_killed_rank_ends_all_and_is_named_and_the_last_checkpoint_is_whole(start, is_alive, victim, mesh):
    command = start(*ENDLESS, *mesh)
    command.reach({0: 2, 1: 3, 3: 4}[victim], command.folder / "run/checkpoints/step_00000004")
    pids = command.pids
    begin = time.monotonic()
    os.kill(pids[victim], signal.SIGKILL)
    assert command.wait(SECONDS) == 1
    assert_gone(pids.values(), is_alive)
    assert time.monotonic() - begin < SECONDS
    said = f"flow_nn: rank {victim} (pid {pids[victim]}) was killed by signal 9; go on from the last checkpoint with --resume"
    assert command.err().splitlines()[-1] == said
    _, _, step = checkpoint.load(checkpoint.latest(command.folder / "run/checkpoints"))
    assert step % 4 == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_whoever_ends_the_command_ends_its_ranks(start, is_alive, number):
    command = start(*ENDLESS, "--dp", 2)
    command.reach(2, command.folder / "run/checkpoints/step_00000004")
    command.process.send_signal(number)
    status = command.wait(SECONDS)
    assert_gone(command.pids.values(), is_alive)
    if number == signal.SIGKILL:  # nobody is left to say anything
        assert status == -signal.SIGKILL
    else:
        assert status == 1
        assert command.err().splitlines()[-1] == "flow_nn train: interrupted; go on with --resume"
    checkpoint.load(checkpoint.latest(command.folder / "run/checkpoints"))


@pytest.mark.parametrize(
    ("error", "module", "status", "said"),
    [
        ("ValueError", [], 1, "RuntimeError: step 3 failed: the weights are gone"),
        ("OSError", ["-m", "mpi4py"], 1, "flow_nn train: the weights are gone"),
    ],
)
def test_a_rank_that_fails_alone_says_so_and_ends_all(start, is_alive, monkeypatch, error, module, status, said):
    monkeypatch.setenv("ERROR", error)
    begin = time.monotonic()
    command = start(*ENDLESS, "--dp", 2, before=[find_mpiexec(), "-n", "2", sys.executable, *module, FAILING])
    assert command.wait() == status
    assert time.monotonic() - begin < 30
    assert said in command.err()
    assert_gone(command.pids.values(), is_alive)
