"""`train --dp --tp --pp` starts its ranks, and gives what one rank gives."""

import json
import shutil

import pytest

MESHES = {
    "2x1x1": ["--dp", 2],
    "1x2x1": ["--tp", 2],
    "1x1x2": ["--pp", 2, "--microbatches", 2],
    "2x1x2": ["--dp", 2, "--pp", 2, "--microbatches", 2],
}
SIZES = {"2x1x1": 2, "1x2x1": 2, "1x1x2": 2, "2x1x2": 4}


def trained(start, *args, out="run", steps=8):
    """A command that has ended well."""
    command = start("--steps", steps, "--out", out, *args)
    assert command.wait() == 0, command.err()
    return command


def figures(out):
    """Every loss in a run's metrics, without the speed."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "tokens_per_s"} for line in lines]


def assert_near(out, whole):
    found, expected = figures(out), figures(whole)
    assert [line.keys() for line in found] == [line.keys() for line in expected]
    for line, other in zip(found, expected, strict=True):
        assert line == pytest.approx(other, rel=1e-6)


def files_of(out):
    """The bytes of a run's checkpoints and sample, by path."""
    paths = [*out.glob("checkpoints/*/*"), out / "sample.txt"]
    return {path.relative_to(out): path.read_bytes() for path in paths}


@pytest.mark.parametrize("mesh", MESHES)
def test_every_mesh_gives_the_losses_of_one_rank(start, whole, mesh):
    many = trained(start, *MESHES[mesh])
    ranks = range(SIZES[mesh])
    lines = many.out().splitlines()
    assert [line.split(": pid ")[0] for line in lines[: len(ranks)]] == [f"rank {rank}" for rank in ranks]
    assert len(set(many.pids.values())) == len(ranks)
    assert lines[len(ranks) :] == whole.out().splitlines()  # rank 0 alone writes
    assert_near(many.folder / "run", whole.folder / "run")
    assert (many.folder / "run/sample.txt").read_bytes() == (whole.folder / "run/sample.txt").read_bytes()
    assert sorted(p.name for p in many.folder.iterdir()) == ["run", "stderr.txt", "stdout.txt"]


@pytest.mark.parametrize("mesh", ["1x2x1", "2x1x2"])
def test_the_same_command_twice_gives_the_same_bits(start, mesh):
    runs = [trained(start, *MESHES[mesh]).folder / "run" for _ in range(2)]
    assert figures(runs[0]) == figures(runs[1])
    assert files_of(runs[0]) == files_of(runs[1])


def test_a_checkpoint_of_2x2x1_resumes_at_other_meshes_with_the_losses_of_a_whole_run(start, whole):
    begun = trained(start, "--dp", 2, "--tp", 2, steps=4)
    for mesh in ([], ["--pp", 2], ["--dp", 3]):
        out = begun.folder / "resumed"
        shutil.copytree(begun.folder / "run", out)
        command = trained(start, "--resume", *mesh, out=out)
        assert "resuming at step 4\n" in command.out()
        assert_near(out, whole.folder / "run")
        shutil.rmtree(out)
