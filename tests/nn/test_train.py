"""python -m flow_nn train: the same command gives the same bits, and a run that was killed ends as if it had not been."""

import json
import math
import random
import time

import pytest
from safetensors.numpy import load_file

from flow_nn.metrics import Metrics, read

LONGER = ["--steps", 30, "--checkpoint-every", 4, "--validate-every", 7]


def figures(out):
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def losses(out):
    """Step, loss and validation loss of each line; the speed may differ between runs."""
    return [(m["step"], m["loss"], m.get("val_loss")) for m in figures(out)]


def checkpoints(out):
    """The bytes of every file of every checkpoint, by path."""
    root = out / "checkpoints"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def assert_same_run(actual, expected):
    assert checkpoints(actual).keys() == checkpoints(expected).keys()
    assert checkpoints(actual) == checkpoints(expected)
    assert losses(actual) == losses(expected)
    assert (actual / "sample.txt").read_bytes() == (expected / "sample.txt").read_bytes()


def kill_at(command, out, step, seconds, *args):
    """Starts a training run and kills it so many seconds after it has written the line of a step, if it is still there."""
    with command.start("train", *command.tiny, *args, "--out", out) as process:
        path = command.folder / out / "metrics.jsonl"
        while process.poll() is None and not (path.exists() and f'"step": {step},' in path.read_text()):
            time.sleep(0.002)
        time.sleep(seconds)
        process.kill()
        process.communicate()
    return process.returncode


def test_the_same_command_gives_the_same_bits(command, run_of_text, text):
    whole, printed = run_of_text
    out = command.train("--text", text, "--out", "run", "--validate-every", 4)
    assert_same_run(command.folder / "run", whole)
    assert out == printed


def test_another_seed_gives_another_run(command, run_of_text, text):
    command.train("--text", text, "--out", "run", "--seed", 3)
    assert losses(command.folder / "run")[0][1] != losses(run_of_text[0])[0][1]


def test_every_step_has_one_line(run_of_text):
    lines = figures(run_of_text[0])
    assert [m["step"] for m in lines] == list(range(1, 13))
    assert [m["step"] for m in lines if "val_loss" in m] == [4, 8, 12]
    for m in lines:
        assert m.keys() - {"val_loss"} == {"step", "loss", "tokens_per_s"}
        assert m["tokens_per_s"] > 0
        for loss in (m["loss"], m.get("val_loss", m["loss"])):
            assert abs(loss - math.log(30)) < 0.2


def test_checkpoints_hold_the_model_under_the_names_of_gpt_2_and_its_optimizer(run_of_text):
    root = run_of_text[0] / "checkpoints"
    assert sorted(p.name for p in root.iterdir()) == ["step_00000005", "step_00000010", "step_00000012"]
    (tensors,) = [load_file(path) for path in (root / "step_00000012").glob("*.safetensors")]
    model = {name.removeprefix("model.") for name in tensors if name.startswith("model.")}
    assert {"transformer.wte.weight", "transformer.h.0.attn.c_attn.weight", "transformer.ln_f.bias"} <= model
    assert len(model) == 16
    assert len(tensors) == 3 * len(model)


def test_a_run_draws_its_curve_and_a_sample_and_says_where_they_are(run_of_text):
    whole, printed = run_of_text
    assert (whole / "loss.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (whole / "loss.png").read_bytes().endswith(b"IEND\xaeB`\x82")
    sample = (whole / "sample.txt").read_text(encoding="utf-8")
    assert len(sample) == 500
    assert f"\n{sample}\n" in printed
    for name in ("metrics.jsonl", "loss.png", "checkpoints", "sample.txt"):
        assert f" run/{name}\n" in printed
    assert sorted(p.name for p in whole.iterdir()) == ["checkpoints", "loss.png", "metrics.jsonl", "sample.txt"]


def test_a_run_killed_again_and_again_ends_with_the_bits_of_a_whole_one(command, text):
    command.train("--text", text, "--out", "whole", *LONGER)
    moments = random.Random(0)
    for step in (3, 9, 16, 28):
        kill_at(command, "killed", step, moments.random() * 0.03, "--text", text, *LONGER, "--resume")
    out = command.train("--text", text, "--out", "killed", *LONGER, "--resume")
    assert "resuming at step " in out
    assert_same_run(command.folder / "killed", command.folder / "whole")
    assert [m["step"] for m in figures(command.folder / "killed")] == list(range(1, 31))


def test_a_run_killed_before_its_first_checkpoint_starts_over(command, run_of_text, text):
    kill_at(command, "run", 1, 0, "--text", text, "--checkpoint-every", 1000, "--steps", 1000)
    assert not (command.folder / "run/checkpoints").exists()
    out = command.train("--text", text, "--out", "run", "--validate-every", 4, "--resume")
    assert "run holds no checkpoint: starting at step 0" in out
    assert_same_run(command.folder / "run", run_of_text[0])


def test_a_shorter_run_goes_on_to_the_bits_of_a_longer_one(command, run_of_text, text):
    command.train("--text", text, "--out", "run", "--validate-every", 4, "--steps", 6)
    command.train("--text", text, "--out", "run", "--validate-every", 4, "--resume")
    run, whole = command.folder / "run", run_of_text[0]
    last = [{k: v for k, v in checkpoints(out).items() if "000012" in k} for out in (run, whole)]
    assert last[0] == last[1] != {}
    assert [loss[:2] for loss in losses(run)] == [loss[:2] for loss in losses(whole)]
    assert (run / "sample.txt").read_bytes() == (whole / "sample.txt").read_bytes()


def test_a_run_that_is_done_resumes_to_itself(command, run_of_text, text):
    for resume in ([], ["--resume"]):
        out = command.train("--text", text, "--out", "run", "--validate-every", 4, *resume)
    assert "resuming at step 12" in out
    assert_same_run(command.folder / "run", run_of_text[0])


def test_an_earlier_run_is_moved_aside(command, run_of_text, text):
    for k in range(3):
        out = command.train("--text", text, "--out", "run", "--validate-every", 4)
        assert (f"moved the run that was in run to run/earlier_{k}" in out) == (k > 0)
    (command.folder / "run/mine.txt").write_text("kept")
    for name in ("run", "run/earlier_1", "run/earlier_2"):
        assert_same_run(command.folder / name, run_of_text[0])
    assert (command.folder / "run/mine.txt").read_text() == "kept"


def test_the_text_that_ships_is_trained_on_by_default(command):
    out = command.train("--out", "run", "--steps", 2, "--batch-size", 2, "--channels", 4)
    assert "on tiny Shakespeare (1,003,854 characters train, 111,540 validate)" in out
    assert abs(figures(command.folder / "run")[0]["loss"] - math.log(65)) < 0.1


def test_figures_after_the_step_of_a_checkpoint_are_cut_off(tmp_path):
    path = tmp_path / "metrics.jsonl"
    figures = Metrics(path)
    for step in range(1, 8):
        figures.add(step=step, loss=1.0 / step)
    figures.close()
    path.write_text(path.read_text() + '{"step": 8, "lo')  # by a kill
    assert [m["step"] for m in read(path)] == list(range(1, 8))
    figures = Metrics(path, 5)
    figures.add(step=6, loss=0.5)
    figures.close()
    assert [m["step"] for m in read(path)] == list(range(1, 7))
    assert read(path)[4:] == [{"step": 5, "loss": 0.2}, {"step": 6, "loss": 0.5}]
    Metrics(path).close()
    assert path.read_text() == ""


@pytest.mark.parametrize("step", [0, 3])
def test_figures_begin_where_there_were_none(step, tmp_path):
    Metrics(tmp_path / "metrics.jsonl", step).close()
    assert read(tmp_path / "metrics.jsonl") == []
