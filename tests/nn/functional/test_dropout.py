"""Dropout keeps what it should, as often as it should: statistics at a fixed seed."""

import warnings

import numpy as np
import pytest

import flow_autograd as autograd
import flow_core as flow
from flow_nn import functional as F

BY_CHANNEL = [
    (F.dropout1d, (400, 50, 3)), (F.dropout1d, (20000, 3)), (F.dropout2d, (400, 50, 2, 2)), (F.dropout2d, (400, 50, 2)),
    (F.dropout3d, (400, 50, 1, 2, 2)), (F.dropout3d, (20000, 2, 2, 1)), (F.feature_dropout, (400, 50)),
]  # fmt: skip
ALL = [F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.feature_dropout, F.alpha_dropout, F.feature_alpha_dropout]


@pytest.fixture(autouse=True)
def seeded():
    flow.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def shape_for(function):
    return {F.dropout1d: (4, 3, 5), F.dropout3d: (2, 3, 2, 2, 2)}.get(function, (4, 3, 5, 2))


def test_dropout_zeroes_each_element_by_itself():
    y = F.dropout(flow.ones(100, 200), 0.3).numpy()
    np.testing.assert_allclose(np.unique(y), [0, 1 / 0.7], rtol=1e-6)
    assert abs((y == 0).mean() - 0.3) < 0.01
    assert y.any(0).all()


@pytest.mark.parametrize(("function", "shape"), BY_CHANNEL)
def test_channels_are_kept_or_zeroed_whole(function, shape):
    y = function(flow.ones(shape), 0.25).numpy()
    assert y.shape == shape
    without_batch = shape[0] == 20000
    rows = y.reshape(20000, -1)
    assert (rows == rows[:, :1]).all()
    assert without_batch or len(np.unique(y[0, :, ...].reshape(shape[1], -1)[:, 0])) == 2
    assert abs((rows == 0).mean() - 0.25) < 0.02
    assert np.isclose(rows.max(), 1 / 0.75)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_alpha_dropout_keeps_mean_and_variance(p):
    x = np.random.default_rng(0).standard_normal((300, 400))
    y = F.alpha_dropout(flow.tensor(x), p, training=True).numpy()
    assert abs(y.mean()) < 0.02
    assert abs(y.std() - 1) < 0.02
    values, counts = np.unique(y, return_counts=True)
    assert abs(counts.max() / y.size - p) < 0.01  # what is dropped has one value
    z = F.feature_alpha_dropout(flow.tensor(x.reshape(300, 100, 4)), p, training=True).numpy()
    dropped = (z == values[counts.argmax()]).reshape(-1, 4)
    assert (dropped == dropped[:, :1]).all()
    assert abs(dropped.mean() - p) < 0.01


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_edges(function, dtype):
    x = flow.ones(shape_for(function), dtype=dtype)
    np.testing.assert_array_equal(function(x, 0.0, True).numpy(), x.numpy())
    np.testing.assert_array_equal(function(x, 0.7, False).numpy(), x.numpy())
    for p in (0.4, 1.0):
        y = function(x, p, True)
        assert y.dtype is x.dtype
        assert y.shape == x.shape
    assert not y.numpy().any()
    for p in (-0.1, 1.1, "a"):
        with pytest.raises(ValueError, match="probability"):
            function(x, p, True)
    with pytest.raises(TypeError, match="tensor"):
        function([1.0], 0.5, True)


@pytest.mark.parametrize("function", ALL)
def test_in_place_and_the_gradient_use_the_same_mask(function):
    x = flow.tensor(np.random.default_rng(1).standard_normal(shape_for(function)), requires_grad=True)
    y = function(x, 0.5, True)
    (g,) = autograd.grad(flow.sum(y), (x,))
    if "alpha" not in function.__name__:
        np.testing.assert_allclose(g.numpy() * x.detach().numpy(), y.detach().numpy())
    flow.manual_seed(0)
    t = x.detach().clone()
    assert function(t, 0.5, True, True) is t
    np.testing.assert_array_equal(t.numpy(), y.detach().numpy())
    with pytest.raises(ValueError, match="requires grad"):
        function(x, 0.5, True, True)


def test_without_a_batch_in_place_writes_the_tensor():
    for function, shape in ((F.dropout1d, (3, 5)), (F.dropout3d, (3, 2, 2, 2))):
        t = flow.ones(shape)
        assert function(t, 1.0, inplace=True) is t
        assert not t.numpy().any()


def test_of_integers_and_complex_numbers():
    whole = flow.tensor([1, 2])
    assert F.dropout(whole, 0.5, False) is whole
    assert F.dropout(whole, 1.0).dtype is flow.int64
    with pytest.raises(TypeError, match="float"):
        F.dropout(whole, 0.5)
    z = F.dropout(flow.tensor(np.full(1000, 1 + 2j)), 0.5).numpy()
    assert set(np.unique(z)) == {0, 2 + 4j}


def test_dims_that_do_not_fit():
    with pytest.raises(ValueError, match="must have 3 dims"):
        F.dropout1d(flow.ones(2, 3, 4, 5))
    with pytest.raises(ValueError, match="two dims"):
        F.feature_dropout(flow.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (lambda: F.dropout2d(flow.ones(2, 3, 4)), lambda: F.dropout3d(flow.ones(2, 3))):
            with pytest.raises(UserWarning, match="expected"):
                call()
