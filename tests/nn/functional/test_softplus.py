"""softplus and logsigmoid against numpy: exact on both sides, beyond the threshold the argument itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
import flow_nn.functional as F
from flow_autograd.testing import check_grads
from flow_core.testing import examples

numbers = st.lists(st.floats(-50, 50), max_size=4)


@examples(50)
@given(numbers, st.sampled_from([1, 0.5, 3.0, -2.0]), st.sampled_from([20, 0.2]))
def test_softplus_is_its_formula_up_to_the_threshold(values, beta, threshold):
    x = np.array(values, np.float64)
    expected = np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)
    np.testing.assert_allclose(F.softplus(flow.tensor(x), beta, threshold).numpy(), expected, rtol=1e-14)


@examples(50)
@given(numbers)
def test_logsigmoid_is_the_log_of_sigmoid(values):
    x = np.array(values, np.float64)
    np.testing.assert_allclose(F.logsigmoid(flow.tensor(x)).numpy(), -np.logaddexp(0, -x), rtol=1e-14)


def test_both_ends_are_exact():
    x = flow.tensor([-1e4, -50.0, 50.0, 1e4], requires_grad=True)
    np.testing.assert_allclose(F.softplus(x).detach().numpy(), np.float32([0, math.exp(-50), 50, 1e4]), rtol=1e-6)
    out = F.logsigmoid(x)
    np.testing.assert_allclose(out.detach().numpy(), -np.float32([1e4, 50, math.exp(-50), 0]), rtol=1e-6)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1, 1, math.exp(-50), 0], rtol=1e-6)
    assert np.isnan(F.softplus(flow.tensor([math.nan])).numpy()).all()


def test_gradients_are_differences_on_both_sides_of_the_threshold():
    x = np.array([-3.0, -0.2, 0.5, 4.0])
    check_grads(lambda x: F.softplus(x, 2.0, 3.0), x)
    check_grads(F.logsigmoid, x)


def test_integers_and_what_is_no_number_are_refused():
    for function in (F.softplus, F.logsigmoid):
        with pytest.raises(TypeError, match="float type"):
            function(flow.tensor([1]))
    with pytest.raises(TypeError, match="beta is '1'"):
        F.softplus(flow.zeros(2), "1")
