"""What is saved is loaded, and what is not a whole file is refused."""

import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.dtype import CATEGORIES

DTYPES = list(CATEGORIES)
KEYS = st.one_of(st.text(max_size=3), st.integers(-3, 300))
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3))
SHAPES = st.lists(st.integers(0, 3), max_size=3)


@st.composite
def tensors(draw):
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(SHAPES)
    t = flow.from_numpy(np.arange(int(np.prod(shape))).reshape(shape).astype(dtype))
    return t.mT if len(shape) > 1 and draw(st.booleans()) else t


TREES = st.recursive(
    st.one_of(tensors(), PLAIN),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)


def same(a, b):
    if isinstance(a, flow.Tensor):
        return a.spec is b.spec and np.array_equal(a.data, b.data)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def written(value):
    file = io.BytesIO()
    flow.save(file, value)
    return file.getvalue()


@given(TREES)
@example(
    {"a.b": flow.ones(1), "a": {"b": flow.zeros(1)}, 1: flow.ones(2), "1": flow.ones(3), "__metadata__": flow.ones(1)}
)
def test_loading_gives_what_was_saved(value):
    assert same(flow.load(io.BytesIO(written(value))), value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_loaded_tensor_of_every_dtype_has_memory_of_its_own(dtype, tmp_path):
    x = flow.from_numpy(np.array([[0, 1, 1], [1, 0, 1]], dtype))
    flow.save(tmp_path / "x", {"x": x, "y": x})
    y = flow.load(tmp_path / "x")
    assert same(y, {"x": x, "y": x})
    assert y["x"].data.flags.writeable
    assert y["x"].data.flags.aligned
    assert not np.shares_memory(y["x"].data, y["y"].data)


def test_a_flat_dict_is_a_plain_safetensors_file_and_such_a_file_is_loaded():
    data = written({"w": flow.ones(2, 3), "b": flow.tensor([1, 2])})
    length = int.from_bytes(data[:8], "little")
    assert json.loads(data[8 : 8 + length]) == {
        "b": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [16, 40]},
    }
    safetensors = pytest.importorskip("safetensors.numpy")
    assert {name: a.tolist() for name, a in safetensors.load(data).items()} == {"w": [[1.0] * 3] * 2, "b": [1, 2]}
    theirs = safetensors.save({"m": np.eye(2), "i": np.arange(3, dtype=np.uint16)}, {"note": "theirs"})
    assert same(
        flow.load(io.BytesIO(theirs)), {"m": flow.tensor(np.eye(2)), "i": flow.tensor([0, 1, 2], dtype="uint16")}
    )


def test_a_tensor_that_requires_grad_is_saved_without_it(tmp_path):
    flow.save(str(tmp_path / "x"), flow.ones(3).requires_grad_())
    assert not flow.load(str(tmp_path / "x")).requires_grad


def test_what_cannot_be_saved_is_refused_by_its_place_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    flow.save(path, {"x": flow.ones(2)})
    with pytest.raises(TypeError, match=r"save: at \['x'\]\[1\] is a ndarray, expected a tensor"):
        flow.save(path, {"x": [1, np.ones(2)]})
    with pytest.raises(TypeError, match=r"save: key 2\.5 what is saved is a float|save: key 2\.5"):
        flow.save(path, {2.5: flow.ones(2)})

    class Broken(flow.Tensor):
        data = property(lambda self: (_ for _ in ()).throw(OSError("no space left")))

    with pytest.raises(OSError, match="no space left"):
        flow.save(path, {"y": object.__new__(Broken)})
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert same(flow.load(path), {"x": flow.ones(2)})


def test_a_writing_that_stops_half_way_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x"
    flow.save(path, flow.ones(2))

    def full_disk(fd):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        flow.save(path, flow.zeros(2))
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert same(flow.load(path), flow.ones(2))


WHOLE = written({"a": [flow.arange(3), flow.ones(2, dtype="bfloat16")], "c": flow.tensor([1j])})


@given(st.data())
def test_a_file_that_is_cut_or_changed_is_refused_or_loads_something(data):
    bad = bytearray(WHOLE)
    if data.draw(st.booleans()):
        bad = bad[: data.draw(st.integers(0, len(bad) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        flow.load(io.BytesIO(bytes(bad)))


def header(**entries):
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04cos\nsystem\n.",  # a pickle
        (2**62).to_bytes(8, "little") + b"{}",
        WHOLE[:-1],
        WHOLE + b"\0",
        header(x={"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}),
        header(x={"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}) + bytes(8),
        header(x={"dtype": "F9", "shape": [1], "data_offsets": [0, 4]}) + bytes(4),
        header(x={"dtype": "F32", "shape": [0, 2**70], "data_offsets": [0, 0]}),
        header(x={"dtype": "F32", "shape": [1.5], "data_offsets": [0, 6]}) + bytes(6),
        header(x=[1]),
        header(__metadata__={"flow.structure": json.dumps({"tensor": "x"})}),
        header(__metadata__={"flow.structure": json.dumps({"call": "x"})}),
        header(__metadata__={"flow.structure": "[" * 100_000}),
        header(__metadata__={"flow.complex": '["x"]'}, x={"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}) + bytes(4),
        b"\x02" + bytes(7) + b"[]",
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_by_name(data, tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"load: .*weights\.safetensors is not a whole safetensors file"):
        flow.load(path)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        flow.load(tmp_path / "none")
