"""What a user gets wrong is one line on stderr and status 2, and nothing is written; what is right prints text."""

import json

import pytest

COMMANDS = [[], ["train"], ["sample"]]


def refused(command, *args):
    """The line of a command that must be refused and leave its folder as it was."""
    before = sorted(command.folder.rglob("*"))
    status, out, err = command.run(*args)
    assert (status, out) == (2, ""), err
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1, err
    assert sorted(command.folder.rglob("*")) == before
    return err


@pytest.mark.parametrize("name", COMMANDS, ids=lambda name: " ".join(name) or "flow_nn")
def test_help_says_what_there_is(command, name):
    status, out, err = command.run(*name, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: {' '.join(['python -m flow_nn', *name])}")
    for flag in {"train": ["--steps N", "--text FILE", "--out DIR", "--resume"], "sample": ["--prompt", "--top-k"]}.get(
        "".join(name), ["train", "sample"]
    ):
        assert flag in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "required"),
        (["tain"], "invalid choice: 'tain'"),
        (["train", "--stepz", "3"], "unrecognized arguments: --stepz 3"),
        (["train", "--step", "3"], "unrecognized arguments: --step 3"),
        (["train", "--a\nb"], "unrecognized arguments: --a b"),
        (["train", "extra"], "unrecognized arguments: extra"),
        (["train", "--steps"], "--steps: expected one argument"),
        (["train", "--steps", "0"], "--steps: '0' is not a whole number of 1 or more"),
        (["train", "--steps", "-5"], "--steps: '-5' is not a whole number of 1 or more"),
        (["train", "--steps", "1e3"], "--steps: '1e3' is not a whole number of 1 or more"),
        (["train", "--batch-size", "1.5"], "--batch-size: '1.5' is not a whole number"),
        (["train", "--checkpoint-every", ""], "--checkpoint-every: '' is not a whole number"),
        (["train", "--context", "nan"], "--context: 'nan' is not a whole number"),
        (["train", "--seed", "-1"], "--seed: '-1' is not a whole number from 0 to below 2^64"),
        (["train", "--seed", str(2**64)], "is not a whole number from 0 to below 2^64"),
        (["train", "--heads", "3"], "128 channels do not divide into 3 heads"),
        (
            ["train", "--context", "200000"],
            "text tiny Shakespeare has 1115394 characters; a context of 200000 needs 2000001",
        ),
        (["train", "--dp", "0"], "--dp: '0' is not a whole number of 1 or more"),
        (["train", "--tp", "5"], "--tp 5 ranks need a head each at least, the model has --heads 4"),
        (["train", "--pp", "9"], "the model has --layers 4"),
        (["train", "--microbatches", "5"], "--microbatches 5 do not divide --batch-size 12"),
        (["sample", "--temperature", "warm"], "--temperature: invalid float value: 'warm'"),
        (["sample", "--length", "0"], "--length: '0' is not a whole number of 1 or more"),
        (["sample"], "runs/gpt holds no checkpoint: give the --out of a training run"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_arguments_that_make_no_sense_are_refused(command, args, said):
    assert said in refused(command, *args)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "text text.txt does not exist"),
        ("folder", "text text.txt is a directory"),
        (b"", "text text.txt is empty"),
        (b"\xff\xfe" * 1000, "text text.txt is not UTF-8"),
        (b"ab" * 80, "text text.txt has 160 characters; a context of 16 needs 161"),
    ],
)
def test_a_text_that_is_none_is_refused(command, content, said):
    path = command.folder / "text.txt"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert said in refused(command, "train", *command.tiny, "--text", "text.txt", "--out", "run")


@pytest.mark.parametrize("out", ["file", "file/run", "file/a/b", "x" * 300])
def test_a_folder_that_cannot_be_made_is_refused(command, text, out):
    (command.folder / "file").write_text("kept")
    assert f"--out {out}: " in refused(command, "train", *command.tiny, "--text", text, "--out", out)
    assert (command.folder / "file").read_text() == "kept"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--channels", "32"], "is of another model: its num_channels is 16, this run's 32"),
        (["--layers", "2"], "is of another model: its num_layers is 1, this run's 2"),
        (["--context", "8"], "is of another model: its block_size is 16, this run's 8"),
        (["--seed", "3"], "is of another setting: its seed is 1337, this run's 3"),
        (["--batch-size", "3"], "is of another setting: its batch_size is 12, this run's 3"),
        (["--steps", "3"], "is of step 12, beyond --steps 3"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_checkpoint_of_another_run_is_not_resumed(command, run_of_text, text, args, said):
    whole, _ = run_of_text
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    err = refused(command, "train", *command.tiny, "--text", text, "--out", whole, "--resume", *args)
    assert f"step_00000012 {said}" in err
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


def test_a_checkpoint_of_another_text_is_not_resumed(command, run_of_text, text):
    whole, _ = run_of_text
    letters = text.read_text(encoding="utf-8")
    for name, other in (("other characters", letters[1000:] + "#" * 1000), ("the same characters", letters[::-1])):
        path = command.folder / name
        path.write_text(other, encoding="utf-8")
        err = refused(command, "train", *command.tiny, "--text", name, "--out", whole, "--resume")
        assert f"is of another text than {name}" in err


def test_a_spoilt_checkpoint_is_refused(command, text):
    folder = command.folder / "run/checkpoints/step_00000003"
    folder.mkdir(parents=True)
    (folder / "checkpoint.json").write_text('{"form')
    for args in (["train", *command.tiny, "--text", text, "--out", "run", "--resume"], ["sample", "run"]):
        assert "checkpoint run/checkpoints/step_00000003 cannot be read" in refused(command, *args)
    (folder / "checkpoint.json").write_text(json.dumps({"format": 1, "step": 3, "meta": {}, "tensors": {}}))
    for args in (["train", *command.tiny, "--text", text, "--out", "run", "--resume"], ["sample", "run"]):
        assert "checkpoint run/checkpoints/step_00000003 " in refused(command, *args)


def test_a_sample_is_drawn_from_a_run_or_a_checkpoint(command, run_of_text):
    whole, _ = run_of_text
    status, first, err = command.run("sample", whole, "--length", 40)
    assert (status, err) == (0, "")
    assert len(first) == 41
    for path in (whole / "checkpoints", whole / "checkpoints/step_00000012"):
        assert command.run("sample", path, "--length", 40) == (0, first, "")
    assert command.run("sample", whole, "--length", 40, "--seed", 7)[1] != first
    likeliest = command.run("sample", whole, "--length", 40, "--prompt", "ab", "--temperature", 0)[1]
    assert command.run("sample", whole, "--length", 40, "--prompt", "ab", "--top-k", 1)[1] == likeliest


def test_a_sample_of_a_run_goes_on_with_its_own(command, run_of_text):
    whole, _ = run_of_text
    _, out, _ = command.run("sample", whole, "--seed", 1337)
    assert out == (whole / "sample.txt").read_text(encoding="utf-8") + "\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--prompt", "abC\n9"], "characters '9C' are not in the vocabulary of 30 characters"),
        (["--prompt", ""], "the prompt is empty"),
        (["--temperature", "-1"], "temperature is -1.0, expected a finite number of 0 or more"),
        (["--temperature", "nan"], "temperature is nan, expected a finite number of 0 or more"),
    ],
)
def test_a_sample_that_cannot_be_drawn_is_refused(command, run_of_text, args, said):
    assert said in refused(command, "sample", run_of_text[0], *args)


def test_a_folder_without_checkpoints_has_no_samples(command):
    (command.folder / "empty").mkdir()
    (command.folder / "file").write_text("")
    for path in ("empty", "file", "none"):
        assert f"{path} holds no checkpoint" in refused(command, "sample", path)


def test_a_text_without_line_breaks_is_trained_on_and_sampled(command):
    (command.folder / "text.txt").write_text("abcde" * 100)
    command.train("--text", "text.txt", "--out", "run", "--steps", 2)
    status, out, err = command.run("sample", "run", "--length", 10)
    assert (status, err) == (0, "")
    assert set(out) <= set("abcde\n")


def test_a_reader_that_leaves_ends_the_sample_quietly(command, run_of_text):
    with command.start("sample", run_of_text[0], "--length", 100_000) as process:
        process.stdout.read(5)
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
