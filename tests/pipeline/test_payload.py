"""Messages: what goes in comes out, of any dtype and shape, without pickle."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from flow_pipeline.payload import pack, unpack

DTYPES = [np.dtype(name) for name in ("?", "<i1", "<u2", "<i4", ">i4", "<f2", "<f4", ">f8", "<c16", "<M8[s]", "<U3")]
if importlib.util.find_spec("ml_dtypes"):  # flow_pipeline itself does not need it
    import ml_dtypes

    DTYPES += [np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn)]


def arrays():
    shapes = hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=4)
    return st.builds(filled, st.sampled_from(DTYPES), shapes, st.randoms(use_true_random=False), st.booleans())


def filled(dtype, shape, random, transposed):
    size = int(np.prod(shape)) * dtype.itemsize
    data = np.zeros(size, np.uint8) if dtype.kind in "?U" else np.frombuffer(random.randbytes(size), np.uint8)
    array = data.view(dtype).reshape(shape)
    return array.T if transposed else array


def trees():
    leaves = arrays() | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
    return st.recursive(
        leaves, lambda t: st.lists(t) | st.lists(t).map(tuple) | st.dictionaries(st.text(max_size=3), t), max_leaves=6
    )


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert a == b


@given(trees())
def test_a_payload_comes_out_as_it_went_in(value):
    description, sent = pack(value)
    result, received = unpack(description)
    for src, dst in zip(sent, received, strict=True):
        dst[:] = src
    assert_same(result, value)


@pytest.mark.parametrize("value", [{1, 2}, [object()], {1: 2}, np.array([None]), np.zeros(2, [("a", "<i4")]), 1j])
def test_what_a_message_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match=r"a message holds numpy arrays.*got a|cannot be sent: it has no name"):
        pack(value)


def test_a_dtype_that_this_side_does_not_know_is_named():
    description, _ = pack(np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="dtype 'nofloat16', unknown here: import ml_dtypes"):
        unpack(description.replace(b"<f4", b"nofloat16"))
