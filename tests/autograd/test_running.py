"""Functions that walk along a dim, rank, mask or normalise have the derivatives that finite differences find, to second order."""

import math

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

X = np.random.default_rng(3).permutation(np.linspace(0.5, 2, 12)).reshape(4, 3)
Y = np.random.default_rng(4).uniform(0.5, 2, (4, 3))
MASK = flow.from_numpy(np.random.default_rng(5).random((4, 3)) < 0.7)
W, B = np.linspace(0.5, 1.5, 3), np.linspace(-1, 1, 3)
masked = flow.masked
ONE = {
    "cumprod": lambda x: flow.cumprod(x, 0),
    "cummax": lambda x: flow.cummax(x, 1).values,
    "cummin": lambda x: flow.cummin(x, 0).values,
    "logcumsumexp": lambda x: flow.logcumsumexp(x, 0),
    "mode": lambda x: flow.mode(x, 1).values,
    "frexp": lambda x: flow.frexp(x * 1.07).mantissa ** 2,
    "renorm": lambda x: flow.renorm(x, 2, 1, 1.0),
    "median": lambda x: flow.median(x) ** 2,
    "median along a dim": lambda x: flow.median(x, 1).values ** 2,
    "nanmedian": lambda x: flow.nanmedian(x, 0).values,
    "quantile": lambda x: flow.quantile(x, 0.3, 0),
    "nanquantile": lambda x: flow.nanquantile(x, flow.tensor([0.2, 0.7], dtype=x.dtype), interpolation="midpoint"),
    "quantile at a place": lambda x: flow.quantile(x, 0.7, 1, interpolation="higher"),
    "cov": flow.cov,
    "corrcoef": lambda x: flow.corrcoef(x[:, :2] + x[:, 1:] ** 2)[0, 1:],
    "rounded quotient": lambda x: flow.div(x, 0.37, rounding_mode="trunc") * x,
    "masked.sum": lambda x: masked.sum(x * x, 1, mask=MASK),
    "masked.prod": lambda x: masked.prod(x, 0, mask=MASK),
    "masked.cumsum": lambda x: masked.cumsum(x * x, 0, mask=MASK),
    "masked.cumprod": lambda x: masked.cumprod(x, 1, mask=MASK),
    "masked.amax": lambda x: masked.amax(x * x, mask=MASK),
    "masked.mean": lambda x: masked.mean(x * x, 0, mask=MASK),
    "masked.median": lambda x: masked.median(x * x, 0, mask=MASK),
    "masked.norm": lambda x: masked.norm(x, 3, 0, mask=MASK),
    "masked.var": lambda x: masked.var(x, 0, correction=0.5, mask=MASK),
    "masked.std": lambda x: masked.std(x, mask=MASK),
    "masked.softmax": lambda x: masked.softmax(x, 0, mask=MASK),
    "masked.softmin": lambda x: masked.softmin(x, 0, mask=MASK),
    "masked.log_softmax": lambda x: masked.log_softmax(x, 0),
    "masked.logsumexp": lambda x: masked.logsumexp(x, 0, mask=MASK),
    "masked.normalize": lambda x: masked.normalize(x, 2.0, 0, mask=MASK),
}
TWO = {
    "add": lambda x, y: flow.add(x, y, alpha=3) ** 2,
    "sub": lambda x, y: flow.sub(x, y, alpha=3) ** 2,
    "rsub": lambda x, y: flow.rsub(x, y, alpha=3) ** 2,
    "softmax backward": lambda x, y: flow._softmax_backward_data(x, y, 1, flow.float64),
    "log_softmax backward": lambda x, y: flow._log_softmax_backward_data(x, y, 1, flow.float64),
    "masked.logaddexp": lambda x, y: masked.logaddexp(x, y, input_mask=MASK),
}
NORMS = {
    "native_layer_norm": lambda x, w, b: flow.native_layer_norm(x, (3,), w, b, 1e-3)[0],
    "native_group_norm": lambda x, w, b: flow.native_group_norm(x.reshape(2, 3, 2), w, b, 2, 3, 2, 3, 1e-3),
    "native_batch_norm": lambda x, w, b: flow.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-3)[0],
    "batch norm by running statistics": lambda x, w, b: flow.native_batch_norm(
        x, w, b, flow.zeros(3, dtype=x.dtype), flow.ones(3, dtype=x.dtype), False, 0.1, 1e-3
    )[0],
}


@pytest.mark.parametrize("name", ONE)
def test_a_function_agrees_with_finite_differences(name):
    check_grads(ONE[name], X, order=2)


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_agrees_with_finite_differences(name):
    check_grads(TWO[name], X, Y, order=2)


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_agrees_with_finite_differences(name):
    check_grads(NORMS[name], X, W, B, order=2)


def test_running_sums_of_exponentials_have_derivatives_to_third_order():
    check_grads(lambda x: flow.logcumsumexp(x, 0), X, order=3)


@pytest.mark.parametrize("zeros", [[1], [0, 3], [0, 1, 2, 3]])
def test_the_gradient_of_running_products_is_right_beside_zeros(zeros):
    x = np.array([2.0, 3.0, -1.0, 0.5])
    x[zeros] = 0
    check_grads(lambda x: flow.cumprod(x, 0), x, order=2)


def test_elements_equal_to_the_median_share_its_gradient():
    x = flow.tensor([1.0, 2.0, 2.0, 3.0, 2.0], requires_grad=True)
    flow.median(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, 1 / 3, 1 / 3, 0, 1 / 3], rtol=1e-6)
    x = flow.tensor([1.0, 2.0, 2.0, 3.0, 2.0], requires_grad=True)
    flow.median(x, 0).values.backward()
    assert sorted(x.grad.tolist()) == [0, 0, 0, 0, 1]


def test_what_a_mask_leaves_out_has_no_gradient_even_where_it_is_infinite():
    for function in (masked.sum, masked.prod, masked.amax, masked.mean, masked.var):
        x = flow.tensor([1.0, math.inf, 2.0], requires_grad=True)
        function(x, 0, mask=flow.tensor([True, False, True])).backward()
        assert x.grad.numpy()[1] == 0
        assert np.isfinite(x.grad.numpy()).all()
