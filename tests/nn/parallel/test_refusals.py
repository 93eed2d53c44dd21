"""Ranks that cannot be had, or cannot do what is asked for, are one line on stderr and status 2, before anything is written."""

import sys

import pytest

from flow_nn.__main__ import main
from flow_nn.launch import find_mpiexec

TINY = "train --layers 2 --channels 16 --heads 4 --context 16 --steps 4 --out run".split()


@pytest.fixture
def refused(tmp_path, monkeypatch, capfd, text):
    """refused(*args): the line of a training command that must be refused and leave its folder as it was."""
    monkeypatch.chdir(tmp_path)

    def held():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def refuse(*args):
        before = held()
        assert main([*TINY, "--text", str(text), *map(str, args)]) == 2
        out, err = capfd.readouterr()
        assert (out, err.count("\n"), err[-1]) == ("", 1, "\n"), err
        assert held() == before
        return err

    return refuse


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--pp", 3], "--pp 3 stages need a layer each at least, the model has --layers 2"),
        (["--tp", 5], "--tp 5 ranks need a head each at least, the model has --heads 4"),
        (["--dp", 2, "--microbatches", 5], "--microbatches 5 do not divide --batch-size 12"),
        (["--microbatches", 24], "--microbatches 24 do not divide --batch-size 12"),
    ],
    ids=["pp", "tp", "dp with microbatches", "microbatches alone"],
)
def test_what_the_model_and_the_batch_do_not_allow(refused, args, said):
    assert refused(*args) == f"flow_nn train: {said}\n"


@pytest.mark.parametrize("flag", ["--dp", "--tp", "--pp", "--microbatches"])
def test_numbers_below_1(flag, capfd):
    with pytest.raises(SystemExit, match="2"):
        main([*TINY, flag, "0"])
    _, err = capfd.readouterr()
    assert err.count("\n") == 1
    assert f"{flag}: '0' is not a whole number of 1 or more" in err


@pytest.mark.parametrize(
    ("args", "size"), [(["--dp", 4], 2), (["--tp", 2, "--pp", 2], 2), ([], 2), (["--dp", 2], 4)], ids=str
)
def test_a_mesh_of_another_size_than_the_ranks_given(refused, monkeypatch, capfd, args, size):
    monkeypatch.setenv("PMI_SIZE", str(size))
    monkeypatch.setenv("PMI_RANK", "0")
    assert f" ranks, {size} were started\n" in refused(*args)
    monkeypatch.setenv("PMI_RANK", "1")
    assert main([*TINY, *map(str, args)]) == 2
    assert capfd.readouterr() == ("", "")  # rank 0 has said it


def test_a_mesh_larger_than_the_ranks_that_mpiexec_started(start):
    command = start("--dp", 4, before=[find_mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py", "-m", "flow_nn"])
    assert command.wait() == 2
    said = "flow_nn train: --dp 4 x --tp 1 x --pp 1 is a mesh of 4 ranks, 2 were started\n"
    assert (command.out(), command.err()) == ("", said)
    assert sorted(path.name for path in command.folder.iterdir()) == ["stderr.txt", "stdout.txt"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--channels", 32], "is of another model: its num_channels is 16, this run's 32; start it alike"),
        (["--seed", 1], "is of another setting: its seed is 1337, this run's 1; start it alike"),
        (["--steps", 3], "is of step 4, beyond --steps 3"),
    ],
    ids=["model", "seed", "steps"],
)
def test_a_checkpoint_of_another_run_is_refused_before_ranks_are_started(refused, text, capfd, args, said):
    assert main([*TINY, "--text", str(text)]) == 0
    capfd.readouterr()
    assert said in refused("--dp", 2, "--resume", *args)


def test_a_checkpoint_of_other_tensors_is_refused_before_ranks_are_started(refused, renamed, tmp_path, text, capfd):
    assert main([*TINY, "--text", str(text)]) == 0
    capfd.readouterr()
    renamed(tmp_path / "run/checkpoints/step_00000004")
    assert "is of another model: model.transformer.ln_f.bias is not" in refused("--pp", 2, "--resume")


def test_no_mpiexec(refused, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "flow_nn train: several ranks need mpiexec, which is missing: pip install 'flow-nn[mpi]'\n"
    assert refused("--dp", 2) == said


def test_no_mpi4py(refused, monkeypatch, tmp_path):
    (tmp_path / "mpiexec").write_text("")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("flow_nn.launch.find_spec", lambda name: None)
    said = "flow_nn train: several ranks need mpi4py, which is missing: pip install 'flow-nn[mpi]'\n"
    assert refused("--dp", 2) == said
