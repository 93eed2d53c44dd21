"""x[index] is numpy's, for ints, slices, None and ..., and rows for a tensor of ids; the methods are the functions."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import examples

X = np.arange(2 * 3 * 4).reshape(2, 3, 4)
bounds = st.none() | st.integers(-9, 9)
items = st.one_of(
    st.integers(-5, 4),
    st.builds(slice, bounds, bounds, st.none() | st.integers(-4, 4).filter(bool)),
    st.none(),
    st.just(...),
    st.integers(-2, 1).map(np.int64),
)


@examples(400)
@given(st.lists(items, max_size=5).map(tuple))
@example((slice(-10, None, -1),))
@example((slice(None, None, -1), slice(None, -10, -1)))
@example((slice(-1, -10, -1), ..., slice(5, 0, -2)))
@example((None, ..., 0, 0))
def test_an_index_takes_what_numpy_takes(index):
    x = flow.from_numpy(X)
    try:
        expected = X[index]
    except IndexError:
        with pytest.raises(IndexError):
            x[index]
        return
    out = x[index]
    assert out.shape == np.shape(expected)
    np.testing.assert_array_equal(out.data, expected)
    if len(index) == 1:
        np.testing.assert_array_equal(x[index[0]].data, expected)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_an_empty_tensor_is_sliced_to_empty(shape):
    x = np.zeros(shape)
    for index in (slice(None, None, -1), slice(2, 9), slice(-9, -1, 2)):
        assert flow.from_numpy(x)[index].shape == x[index].shape


def test_a_0_d_integer_tensor_is_an_int():
    x = flow.from_numpy(X)
    assert x[flow.tensor(1)].tolist() == X[1].tolist()
    assert x[:, flow.tensor(-1)].tolist() == X[:, -1].tolist()
    with pytest.raises(IndexError, match="expected integers or bools"):
        x[flow.tensor(1.0)]


@pytest.mark.parametrize("dtype", [flow.int64, flow.int8, flow.uint8], ids=str)
def test_a_tensor_of_ids_takes_rows(dtype):
    x = flow.from_numpy(X)
    for ids in ([1, 0, 1], [[0], [1]], []):
        ids = np.array(ids, dtype)
        out = x[flow.from_numpy(ids)]
        np.testing.assert_array_equal(out.data, X[ids])
        assert not np.shares_memory(out.data, X)


@pytest.mark.parametrize("bad", [2, -1])
def test_an_id_out_of_range_is_an_index_error_that_names_it(bad):
    with pytest.raises(IndexError, match=f"take_rows: index {bad} is out of range for 2 rows"):
        flow.take_rows(flow.tensor([0, bad]), flow.from_numpy(X))
    with pytest.raises(IndexError, match=f"add_rows: index {bad} is out of range for 2 rows"):
        flow.add_rows(flow.ones(2, 3), flow.tensor([0, bad]), num_rows=2)


def test_rows_of_equal_ids_are_added_in_their_order():
    rng = np.random.default_rng(0)
    g, ids = rng.normal(size=(1000, 3)).astype(np.float32), rng.integers(0, 5, 1000)
    found = flow.add_rows(flow.from_numpy(g), flow.from_numpy(ids), num_rows=5)
    exact = [g[ids == r].astype(float).sum(0) for r in range(5)]
    np.testing.assert_allclose(found.data, exact, rtol=0, atol=1000 * 2.0**-24 * np.abs(g).sum(0).max())
    again = flow.add_rows(flow.from_numpy(g), flow.from_numpy(ids), num_rows=5)
    assert found.data.tobytes() == again.data.tobytes()


@pytest.mark.parametrize(
    ("method", "function"),
    [
        (lambda x: x.split(2, 2), lambda a: np.split(a, [2], 2)),
        (lambda x: x.split([1, 0, 2], dim=1), lambda a: np.split(a, [1, 1], 1)),
        (lambda x: x.split(3, -1), lambda a: np.split(a, [3], 2)),
        (lambda x: x.chunk(3, 2), lambda a: np.split(a, [2], 2)),
        (lambda x: x.chunk(9, 0), lambda a: np.split(a, 2, 0)),
        (lambda x: x.unbind(1), lambda a: list(np.moveaxis(a, 1, 0))),
        (lambda x: [x.squeeze(), x.unsqueeze(0).squeeze(0)], lambda a: [a, a]),
        (lambda x: [x[:1].squeeze(0), x[:1].squeeze((0, 1)), x[:1].squeeze()], lambda a: [a[0], a[0], a[0]]),
        (lambda x: [x.unsqueeze(-1), x.unsqueeze(1)], lambda a: [a[..., None], a[:, None]]),
        (
            lambda x: [x.flatten(), x.flatten(1), x.flatten(0, 1)],
            lambda a: [a.ravel(), a.reshape(2, 12), a.reshape(6, 4)],
        ),
        (lambda x: [x.T, x.mT, x.transpose(0, 2)], lambda a: [a.T, a.swapaxes(1, 2), a.swapaxes(0, 2)]),
        (lambda x: [x.permute(2, 0, 1), x.permute((2, 0, 1))], lambda a: [a.transpose(2, 0, 1)] * 2),
        (
            lambda x: [x.reshape(-1, 2), x.reshape((6, 4)), x.view(24)],
            lambda a: [a.reshape(-1, 2), a.reshape(6, 4), a.ravel()],
        ),
        (
            lambda x: [flow.stack([x, x], 1), flow.stack((x, x), -1)],
            lambda a: [np.stack([a, a], 1), np.stack([a, a], -1)],
        ),
        (lambda x: [x[:, :1].expand(2, 3, 4), x.expand(5, -1, -1, 4)], lambda a: [a[:, :1] + 0 * a, np.stack([a] * 5)]),
        (lambda x: [x.sum(), x.any(1), x.amax((0, 2))], lambda a: [a.sum(), a.any(1), a.max((0, 2))]),
        (
            lambda x: [x.argmax(2, keepdim=True)],
            lambda a: [a.argmax(2, keepdims=True)],
        ),
        (lambda x: [abs(-x), 2 - x, x**2, x / 2], lambda a: [a, 2 - a, a**2, a / 2]),
    ],
)
def test_a_method_is_what_numpy_makes_of_it(method, function):
    found, expected = method(flow.from_numpy(X)), function(X)
    assert len(found) == len(expected)
    for x, a in zip(found, expected, strict=True):
        assert x.shape == np.shape(a)
        np.testing.assert_array_equal(x.data, a)


def test_ranges_are_numpy_s():
    for args in ((5,), (2, 5), (5, 2, -1), (0, 7, 3), (3, 3), (5, 2)):
        assert flow.arange(*args).tolist() == np.arange(*args).tolist()
        assert flow.arange(*args).dtype is flow.int64
    assert flow.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert flow.arange(3.0).dtype is flow.float32
    assert flow.arange(3, dtype=flow.float64).dtype is flow.float64
    assert flow.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]
