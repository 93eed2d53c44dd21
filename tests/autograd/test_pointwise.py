"""The elementwise functions in terms of ops have the derivatives that finite differences find, to second order."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

# function, number of tensors, lowest and highest element: clear of the kinks
CASES = {
    "square": (flow.square, 1, -2, 2),
    "clamp": (lambda x: flow.clamp(x, -3, 3), 1, -2, 2),
    "relu": (flow.relu, 1, 0.5, 2),
    "lerp": (flow.lerp, 3, 0.6, 2),
    "addcmul": (flow.addcmul, 3, -2, 2),
    "addcdiv": (flow.addcdiv, 3, 0.5, 2),
    "rsub": (flow.rsub, 2, -2, 2),
    "frac": (flow.frac, 1, 0.1, 0.9),
    "sinc": (flow.sinc, 1, 0.2, 2),
    "digamma": (flow.digamma, 1, 0.5, 3),
    "mvlgamma": (lambda x: flow.mvlgamma(x, 2), 1, 1.5, 3),
    "xlogy": (flow.xlogy, 2, 0.5, 2),
    "ldexp": (flow.ldexp, 2, -2, 2),
    "float_power": (flow.float_power, 2, 0.5, 2),
    "nan_to_num": (flow.nan_to_num, 1, -2, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_finite_differences(name):
    function, count, low, high = CASES[name]
    rng = np.random.default_rng(7)
    check_grads(function, *[rng.uniform(low, high, (2, 3)) for _ in range(count)], order=2)


def test_the_bounds_of_clamp_pass_the_whole_gradient():
    x = flow.tensor([-1.0, 0.0, 0.5, 1.0, 2.0], requires_grad=True)
    flow.clamp(x, 0, 1).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1, 0]
    x.grad = None
    flow.relu(x).sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 1, 1]
