"""A checkpoint folder that has its name is whole, whenever its writer was killed."""

import json
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from tempfile import TemporaryDirectory

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from flow_core.testing import examples
from flow_nn import checkpoint

# For each line "STEP SECONDS" starts a process that saves from that step on, and kills it after so many seconds.
KILLER = """
import os, signal, sys, time
import numpy as np
from flow_nn import checkpoint

def write(step):
    a = np.full((100, 1000), step, np.float32)
    checkpoint.save(sys.argv[1], step, {f"t{i}": checkpoint.Piece(a, (0, 0), a.shape) for i in range(5)}, {"at": step})

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


def save(root, step, arrays, meta, **options):
    """Saves whole arrays."""
    pieces = {name: checkpoint.Piece(a, (0,) * a.ndim, a.shape) for name, a in arrays.items()}
    return checkpoint.save(root, step, pieces, meta, **options)


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, a in expected.items():
        assert actual[name].dtype == a.dtype
        np.testing.assert_array_equal(actual[name], a)


def test_what_is_saved_is_loaded(tmp_path):
    path = save(tmp_path / "a/b", 12, ARRAYS, META)
    assert path == tmp_path / "a/b/step_00000012"
    tensors, meta, step = checkpoint.load(path)
    assert_same(tensors, ARRAYS)
    assert (meta, step) == (META, 12)


def test_bfloat16_is_saved_and_loaded(tmp_path):
    arrays = {"b": np.arange(5).astype(ml_dtypes.bfloat16)}
    assert_same(checkpoint.load(save(tmp_path, 1, arrays, {}))[0], arrays)


def test_the_same_state_gives_the_same_bytes(tmp_path):
    paths = [save(tmp_path / name, 3, ARRAYS, META) for name in "ab"]
    for name in ("rank_0000.safetensors", "checkpoint.json"):
        assert (paths[0] / name).read_bytes() == (paths[1] / name).read_bytes()


def test_a_checkpoint_holds_safetensors_and_json_alone(tmp_path):
    path = save(tmp_path, 3, ARRAYS, META)
    assert sorted(p.name for p in path.iterdir()) == ["checkpoint.json", "rank_0000.safetensors"]
    program = (
        f"import sys; from flow_nn import checkpoint; checkpoint.load({str(path)!r}); print('pickle' in sys.modules)"
    )
    bare = f"import sys; import flow_nn; sys.modules.pop('pickle', None); {program}"
    done = subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


class Rank:
    """A rank of a world of threads."""

    def __init__(self, rank, barrier):
        self.rank, self.barrier = rank, barrier.wait


def slices(shape, cuts, rank):
    """What a rank writes of an array cut at `cuts` along its first dim, the ranks taking turns."""
    bounds = [0, *sorted(cuts), shape[0]]
    return [slice(a, b) for i, (a, b) in enumerate(pairwise(bounds)) if i % 3 == rank and a < b]


@examples(20)
@given(st.integers(1, 12), st.lists(st.integers(0, 12), min_size=2, max_size=2))
def test_what_ranks_save_in_pieces_is_loaded_whole(rows, cuts):
    arrays = {"a": np.arange(rows * 2.0).reshape(rows, 2), "b": np.arange(rows)}
    cuts = [min(cut, rows) for cut in cuts]
    with TemporaryDirectory() as root, ThreadPoolExecutor(3) as threads:
        barrier = threading.Barrier(3)

        def write(rank):
            parts = {name: (a, s) for name, a in arrays.items() for s in slices(a.shape, cuts, rank)}
            pieces = {
                n: checkpoint.Piece(a[s], (s.start,) + (0,) * (a.ndim - 1), a.shape) for n, (a, s) in parts.items()
            }
            return checkpoint.save(root, 1, pieces, META, comm=Rank(rank, barrier))

        (path,) = set(threads.map(write, range(3)))
        tensors, meta, step = checkpoint.load(path)
        assert [p.name for p in path.parent.iterdir()] == ["step_00000001"]
        assert sum(a.size for p in path.glob("*.safetensors") for a in load_file(p).values()) == 3 * rows
    assert_same(tensors, arrays)
    assert (meta, step) == (META, 1)


@pytest.mark.parametrize("starts", [[0], [0, 1], [1, 3], [0, 3, 4], [-2, 2]])
def test_pieces_that_do_not_fill_a_tensor_are_refused(starts, tmp_path):
    path = save(tmp_path, 1, {"a": np.zeros(4)}, {})
    for rank in range(len(starts)):
        save_file({"a": np.zeros(2)}, path / f"{rank}.safetensors")
    index = json.loads((path / "checkpoint.json").read_text())
    index["tensors"]["a"]["pieces"] = [[f"{rank}.safetensors", [start]] for rank, start in enumerate(starts)]
    (path / "checkpoint.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match=r"is not what its checkpoint\.json lists"):
        checkpoint.load(path)


def test_the_newest_few_are_kept(tmp_path):
    for step in (1, 20, 3, 100, 4):
        save(tmp_path, step, ARRAYS, META, keep=3)
    assert [p.name for p in checkpoint.steps(tmp_path)] == ["step_00000004", "step_00000020", "step_00000100"]
    assert checkpoint.latest(tmp_path).name == "step_00000100"
    assert sorted(p.name for p in tmp_path.iterdir()) == [p.name for p in checkpoint.steps(tmp_path)]
    save(tmp_path, 101, ARRAYS, META, keep=1)
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000101"]


def test_a_step_is_written_again_over_itself(tmp_path):
    save(tmp_path, 5, {"a": np.zeros(2)}, {})
    path = save(tmp_path, 5, {"b": np.ones(3)}, {"new": 1})
    assert checkpoint.load(path)[1] == {"new": 1}
    assert_same(checkpoint.load(path)[0], {"b": np.ones(3)})
    assert [p.name for p in tmp_path.iterdir()] == ["step_00000005"]


def test_what_a_killed_writer_left_is_no_checkpoint_and_is_removed(tmp_path):
    left = tmp_path / "partial_00000009"
    left.mkdir(parents=True)
    (left / "rank_0000.safetensors").write_bytes(b"half")
    assert checkpoint.latest(tmp_path) is None
    save(tmp_path, 10, ARRAYS, META)
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
    "a truncated tensor file": spoil("rank_0000.safetensors", lambda b: b[:-5]),
    "half a header": spoil("rank_0000.safetensors", lambda b: b[:20]),
    "an empty tensor file": spoil("rank_0000.safetensors", lambda b: b""),
    "tensors that are no tensors": spoil("rank_0000.safetensors", lambda b: b"\x93NUMPY" * 100),
    "a header of another length": spoil("rank_0000.safetensors", lambda b: b"\xff" + b[1:]),
    "a header of absurd length": spoil("rank_0000.safetensors", lambda b: b"\xff" * 8 + b[8:]),
    "a tensor of another name": spoil("rank_0000.safetensors", lambda b: b.replace(b'"count"', b'"cOunt"')),
    "a tensor of another type": spoil("rank_0000.safetensors", lambda b: b.replace(b'"F64"', b'"I64"', 1)),
    "a type nobody knows": spoil("rank_0000.safetensors", lambda b: b.replace(b'"F64"', b'"X64"', 1)),
    "a flipped bit": spoil("rank_0000.safetensors", lambda b: b[:-1] + bytes([b[-1] ^ 64])),
    "no tensor file": lambda path: (path / "rank_0000.safetensors").unlink(),
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
    path = save(tmp_path, 3, ARRAYS, META)
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
