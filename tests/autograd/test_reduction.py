"""The functions that reduce or accumulate have the derivatives that finite differences find, to second order."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

CASES = {
    "prod": lambda x: flow.prod(x, 1),
    "prod of all": flow.prod,
    "logsumexp": lambda x: flow.logsumexp(x, (0, 1)),
    "var": lambda x: flow.var(x, 1),
    "std_mean": lambda x: flow.std_mean(x, 0),
    "norm": lambda x: flow.norm(x, 2, 1),
    "norm of order 3": lambda x: flow.norm(x, 3),
    "nanmean": flow.nanmean,
    "max": lambda x: flow.max(x, 1).values,
    "sort": lambda x: flow.sort(x, 1).values,
    "topk": lambda x: flow.topk(x, 2, 0).values,
    "cumsum": lambda x: flow.cumsum(x, 1),
    "diff": flow.diff,
    "trapezoid": flow.trapezoid,
    "cumulative_trapezoid": flow.cumulative_trapezoid,
    "sum_to_size": lambda x: x.sum_to_size(1, 3) * x,
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_finite_differences(name):
    x = np.random.default_rng(3).permutation(np.linspace(0.5, 2, 12)).reshape(4, 3)
    check_grads(CASES[name], x, order=2)


def test_the_gradient_of_a_product_is_right_beside_zeros():
    x = flow.tensor([2.0, 0.0, 3.0], requires_grad=True)
    flow.prod(x).backward()
    assert x.grad.tolist() == [0, 6, 0]


def test_the_gradient_of_a_norm_of_zeros_is_zero():
    x = flow.zeros(3).requires_grad_()
    flow.norm(x).backward()
    assert x.grad.tolist() == [0, 0, 0]
