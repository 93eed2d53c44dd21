"""The functions that arrange dims equal numpy's, on shapes with 0 and 1, and refuse what does not fit."""

import numpy as np
import pytest

import flow_core as flow

X = np.arange(24.0).reshape(2, 3, 4)
# function, numpy's, the arrays they take
CASES = {
    "broadcast_to": (lambda x: flow.broadcast_to(x, (5, 2, 3, 4)), lambda x: np.broadcast_to(x, (5, 2, 3, 4)), [X]),
    "ravel": (flow.ravel, np.ravel, [X]),
    "ravel of nothing": (flow.ravel, np.ravel, [X[:0]]),
    "unflatten": (lambda x: flow.unflatten(x, 2, (2, -1)), lambda x: x.reshape(2, 3, 2, 2), [X]),
    "movedim": (lambda x: flow.movedim(x, (0, 1), (2, 0)), lambda x: np.moveaxis(x, (0, 1), (2, 0)), [X]),
    "adjoint": (flow.adjoint, lambda x: x.swapaxes(-1, -2), [X]),
    "t": (flow.t, np.transpose, [X[0]]),
    "flip": (lambda x: flow.flip(x, (0, 2)), lambda x: np.flip(x, (0, 2)), [X]),
    "fliplr": (flow.fliplr, np.fliplr, [X]),
    "flipud": (flow.flipud, np.flipud, [X]),
    "roll": (lambda x: flow.roll(x, (1, -6), (0, 2)), lambda x: np.roll(x, (1, -6), (0, 2)), [X]),
    "roll flat": (lambda x: flow.roll(x, 5), lambda x: np.roll(x, 5), [X]),
    "roll of nothing": (lambda x: flow.roll(x, 5, 0), lambda x: x, [X[:0]]),
    **{
        f"rot90 by {k}": (lambda x, k=k: flow.rot90(x, k, (0, 2)), lambda x, k=k: np.rot90(x, k, (0, 2)), [X])
        for k in (-1, 0, 1, 2, 3, 5)
    },
    "repeat": (lambda x: x.repeat(2, 1, 3, 0), lambda x: np.tile(x, (2, 1, 3, 0)), [X]),
    "tile": (lambda x: flow.tile(x, 2, 3), lambda x: np.tile(x, (2, 3)), [X]),
    "hstack": (lambda *a: flow.hstack(a), lambda *a: np.hstack(a), [X, X[:, :1]]),
    "hstack of vectors": (lambda *a: flow.hstack(a), lambda *a: np.hstack(a), [X[0, 0], X[0, 1]]),
    "vstack": (lambda *a: flow.vstack(a), lambda *a: np.vstack(a), [X[0, 0], X[0]]),
    "dstack": (lambda *a: flow.dstack(a), lambda *a: np.dstack(a), [X[0, 0], X[0, 1]]),
    "column_stack": (lambda *a: flow.column_stack(a), lambda *a: np.column_stack(a), [X[0, 0], X[0, 1]]),
    "narrow": (lambda x: flow.narrow(x, 2, -3, 2), lambda x: x[..., 1:3], [X]),
    "select": (lambda x: flow.select(x, 1, -1), lambda x: x[:, -1], [X]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_equals_numpy_s(name):
    function, reference, given = CASES[name]
    out = function(*[flow.from_numpy(a) for a in given])
    expected = reference(*given)
    assert out.shape == expected.shape
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize(
    ("function", "reference"),
    [(flow.atleast_1d, np.atleast_1d), (flow.atleast_2d, np.atleast_2d), (flow.atleast_3d, np.atleast_3d)],
)
def test_new_dims_come_where_numpy_puts_them(function, reference):
    for a in (X, X[0], X[0, 0], X[0, 0, 0]):
        np.testing.assert_array_equal(function(flow.tensor(a)).numpy(), reference(a))
    assert [t.ndim for t in function([flow.tensor(1.0), flow.ones(2, 2, 2, 2)])][1] == 4


@pytest.mark.parametrize("parts", [1, 2, 5, [1, 3], [0, 0, 9], []])
def test_a_tensor_is_cut_where_numpy_cuts_it(parts):
    found = flow.tensor_split(flow.from_numpy(X), parts, 2)
    expected = np.array_split(X, parts, 2)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_even_cuts_must_divide():
    x = flow.from_numpy(X)
    assert [p.shape for p in flow.hsplit(x, 3)] == [(2, 1, 4)] * 3
    assert [p.shape for p in flow.vsplit(x, 2)] == [(1, 3, 4)] * 2
    assert [p.shape for p in flow.dsplit(x, [1])] == [(2, 3, 1), (2, 3, 3)]
    for function, parts in ((flow.hsplit, 2), (flow.vsplit, 3), (flow.dsplit, 3), (flow.dsplit, 0)):
        with pytest.raises(ValueError, match=function.__name__):
            function(x, parts)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_a_grid_is_numpy_s(indexing):
    parts = [X[0, 0], X[0, 1, :3], X[0, 2, :2]]
    found = flow.meshgrid(*[flow.from_numpy(p) for p in parts], indexing=indexing)
    for a, b in zip(found, np.meshgrid(*parts, indexing=indexing), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    with pytest.raises(ValueError, match="indexing"):
        flow.meshgrid(flow.ones(2), indexing="ji")


def test_spaces_have_both_ends():
    np.testing.assert_allclose(flow.linspace(-1, 2, 7).numpy(), np.linspace(-1, 2, 7), rtol=1e-7)
    np.testing.assert_allclose(flow.logspace(0, 2, 5).numpy(), np.logspace(0, 2, 5), rtol=1e-6)
    assert flow.linspace(3, 9, 1).tolist() == [3]
    assert flow.linspace(3, 9, 0).shape == (0,)
    with pytest.raises(ValueError, match="steps"):
        flow.linspace(0, 1, -1)


def test_shapes_and_tensors_broadcast_together():
    assert flow.broadcast_shapes((2, 1), 3) == (2, 3)
    a, b = flow.broadcast_tensors(flow.ones(2, 1), flow.ones(3))
    assert a.shape == b.shape == (2, 3)
    with pytest.raises(ValueError, match="broadcast_shapes"):
        flow.broadcast_shapes((2,), (3,))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: flow.t(x), "t: f64"),
        (lambda x: flow.fliplr(x[0, 0]), "fliplr"),
        (lambda x: flow.flip(x, (0, 0)), "twice"),
        (lambda x: flow.roll(x, (1, 2), 0), "roll"),
        (lambda x: flow.rot90(x, 1, (0, 0)), "rot90"),
        (lambda x: x.repeat(2), "repeat"),
        (lambda x: flow.narrow(x, 0, 1, 2), "narrow"),
        (lambda x: flow.movedim(x, (0, 1), 0), "movedim"),
        (lambda x: flow.unflatten(x, 0, (3, 1)), "unflatten"),
    ],
)
def test_what_does_not_fit_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call(flow.from_numpy(X))
