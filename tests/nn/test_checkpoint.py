"""A checkpoint folder that has its name is whole, whenever its writer was killed."""

import random
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from flow_nn import checkpoint

# For each line "STEP SECONDS" starts a process that saves from that step on, and kills it after so many seconds.
KILLER = """
import os, signal, sys, time
import numpy as np
from flow_nn import checkpoint

def write(step):
    tensors = {f"t{i}": np.full((100, 1000), step, np.float32) for i in range(5)}
    checkpoint.save(sys.argv[1], step, tensors, {"at": step})

for line in sys.stdin:
    step, seconds = line.split()
    writer = os.fork()
    if writer == 0:
        for step in range(int(step), 10**6):
            for _ in range(1 + (step % 3 == 0)):
                write(step)
    time.sleep(float(seconds))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    print("killed", flush=True)
"""

ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "wide": np.array([0.1, np.nan, -np.inf]),
    "count": np.array(7),
    "none": np.zeros((0, 3), np.float32),
    "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "flag": np.array([True, False]),
    "half": np.arange(4, dtype=np.float16),
}
META = {"chars": "\né😀", "sizes": {"a": 1}, "list": [1.5, None, True], "seed": 2**64 - 1}


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, a in expected.items():
        assert actual[name].dtype == a.dtype
        np.testing.assert_array_equal(actual[name], a)


def test_what_is_saved_is_loaded(tmp_path):
    path = checkpoint.save(tmp_path / "a/b", 12, ARRAYS, META)
    assert path == tmp_path / "a/b/step_00000012"
    tensors, meta, step = checkpoint.load(path)
    assert_same(tensors, ARRAYS)
    assert (meta, step) == (META, 12)


def test_bfloat16_is_saved_and_loaded(tmp_path):
    arrays = {"b": np.arange(5).astype(ml_dtypes.bfloat16)}
    assert_same(checkpoint.load(checkpoint.save(tmp_path, 1, arrays, {}))[0], arrays)


def test_the_same_state_gives_the_same_bytes(tmp_path):
    paths = [checkpoint.save(tmp_path / name, 3, ARRAYS, META) for name in "ab"]
    for name in ("tensors.safetensors", "checkpoint.json"):
        assert (paths[0] / name).read_bytes() == (paths[1] / name).read_bytes()


def test_a_checkpoint_holds_safetensors_and_json_alone(tmp_path):
    path = checkpoint.save(tmp_path, 3, ARRAYS, META)
    assert sorted(p.name for p in path.iterdir()) == ["checkpoint.json", "tensors.safetensors"]
    program = (
        f"import sys; from flow_nn import checkpoint; checkpoint.load({str(path)!r}); print('pickle' in sys.modules)"
    )
    bare = f"import sys; import flow_nn; sys.modules.pop('pickle', None); {program}"
    done = subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_the_newest_few_are_kept(tmp_path):
    for step in (1, 20, 3, 100, 4):
        checkpoint.save(tmp_path, step, ARRAYS, META, keep=3)
    assert [p.name for p in checkpoint.steps(tmp_path)] == ["step_00000004", "step_00000020", "step_00000100"]
    assert checkpoint.latest(tmp_path).name == "step_00000100"
    assert sorted(p.name for p in tmp_path.iterdir()) == [p.name for p in checkpoint.steps(tmp_path)]
    checkpoint.save(tmp_path, 101, ARRAYS, META, keep=1)
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000101"]


def test_a_step_is_written_again_over_itself(tmp_path):
    checkpoint.save(tmp_path, 5, {"a": np.zeros(2)}, {})
    path = checkpoint.save(tmp_path, 5, {"b": np.ones(3)}, {"new": 1})
    assert checkpoint.load(path)[1] == {"new": 1}
    assert_same(checkpoint.load(path)[0], {"b": np.ones(3)})
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000005"]


def test_what_a_killed_writer_left_is_no_checkpoint_and_is_removed(tmp_path):
    left = tmp_path / "partial_00000009"
    left.mkdir(parents=True)
    (left / "tensors.safetensors").write_bytes(b"half")
    assert checkpoint.latest(tmp_path) is None
    checkpoint.save(tmp_path, 10, ARRAYS, META)
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000010"]


def test_there_are_no_checkpoints_where_there_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "none", tmp_path / "file"):
        assert checkpoint.steps(path) == []
        assert checkpoint.latest(path) is None


def test_a_writer_killed_at_any_moment_leaves_a_checkpoint_that_is_whole(tmp_path):
    moments, newest = random.Random(0), -1
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", KILLER, tmp_path], **pipes) as killer:
        for kill in range(15):
            killer.stdin.write(f"{newest + 1} {0.02 + moments.random() * 0.1}\n")
            assert killer.stdout.readline() == "killed\n"
            path = checkpoint.latest(tmp_path)
            if path is None:
                assert kill == 0, "an earlier checkpoint is gone"
                continue
            for found in checkpoint.steps(tmp_path):
                tensors, meta, step = checkpoint.load(found)
                assert found.name == f"step_{step:08d}"
                assert meta == {"at": step}
                assert all((a == step).all() for a in tensors.values())
            # A step that is written once more has no name for an instant; the one before it always has.
            assert step >= newest - 1
            newest = step
    assert newest > 0


def spoil(name, change):
    """Applies a change to the bytes of a file of a checkpoint."""

    def spoiler(path):
        file = path / name
        file.write_bytes(change(file.read_bytes()))

    return spoiler


SPOILERS = {
    "a truncated tensor file": spoil("tensors.safetensors", lambda b: b[:-5]),
    "half a header": spoil("tensors.safetensors", lambda b: b[:20]),
    "an empty tensor file": spoil("tensors.safetensors", lambda b: b""),
    "tensors that are no tensors": spoil("tensors.safetensors", lambda b: b"\x93NUMPY" * 100),
    "a header of another length": spoil("tensors.safetensors", lambda b: b"\xff" + b[1:]),
    "a header of absurd length": spoil("tensors.safetensors", lambda b: b"\xff" * 8 + b[8:]),
    "a tensor of another name": spoil("tensors.safetensors", lambda b: b.replace(b'"count"', b'"cOunt"')),
    "a tensor of another type": spoil("tensors.safetensors", lambda b: b.replace(b'"F64"', b'"I64"', 1)),
    "a type nobody knows": spoil("tensors.safetensors", lambda b: b.replace(b'"F64"', b'"X64"', 1)),
    "no tensor file": lambda path: (path / "tensors.safetensors").unlink(),
    "half of the JSON": spoil("checkpoint.json", lambda b: b[: len(b) // 2]),
    "empty JSON": spoil("checkpoint.json", lambda b: b""),
    "JSON that is not UTF-8": spoil("checkpoint.json", lambda b: b"\xff\xfe\xfd" + b),
    "JSON of another kind": spoil("checkpoint.json", lambda b: b"[1, 2]"),
    "another format": spoil("checkpoint.json", lambda b: b.replace(b'"format": 1', b'"format": 99')),
    "no list of tensors": spoil("checkpoint.json", lambda b: b.replace(b'"tensors"', b'"others"')),
    "no step": spoil("checkpoint.json", lambda b: b.replace(b'"step"', b'"stop"')),
    "a step that is no number": spoil("checkpoint.json", lambda b: b.replace(b'"step": 3', b'"step": "3"')),
    "no meta": spoil("checkpoint.json", lambda b: b.replace(b'"meta"', b'"mete"')),
    "no JSON": lambda path: (path / "checkpoint.json").unlink(),
}


@pytest.mark.parametrize("spoiler", SPOILERS.values(), ids=SPOILERS)
def test_a_spoilt_checkpoint_is_refused_in_one_line(spoiler, tmp_path):
    path = checkpoint.save(tmp_path, 3, ARRAYS, META)
    checkpoint.load(path)
    spoiler(path)
    with pytest.raises(ValueError, match=str(path)) as error:
        checkpoint.load(path)
    assert type(error.value) is ValueError
    assert "\n" not in str(error.value)


def test_what_is_no_checkpoint_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none", tmp_path, tmp_path / "file"):
        with pytest.raises(ValueError, match=rf"{path} (is not a checkpoint|cannot be read)"):
            checkpoint.load(path)
