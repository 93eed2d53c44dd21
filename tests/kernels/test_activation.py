import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_kernels as fk
from flow_kernels import reference
from flow_kernels.testing import EPS, EXP, TINY, assert_same_bits, assert_within, normal, poisoned, scales, seeds, sizes

APPROXIMATE = ("none", "tanh")

TAIL = 4e-7
"""The stated relative error of the polynomial of Phi(-a), roundings included."""


def bounds(x, approximate):
    """Those of the gate (Phi, or the sigmoid) and of the slope of gelu."""
    x = x.astype(np.float64)
    gate = np.vectorize(lambda v: float(reference.gelu(np.float32([v]), approximate)[0]) / v if v else 0.5)(x)
    low = np.minimum(np.abs(gate), np.abs(1 - gate))
    if approximate == "none":
        exponent = EPS * x * x / 2 + EXP
        gate_bound = low * (exponent + TAIL) + 2 * EPS
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return gate_bound, gate_bound + np.abs(x) * density * (exponent + 4 * EPS) + 2 * EPS
    u2 = 2 * np.sqrt(2 / np.pi) * np.abs(x + 0.044715 * x**3)
    # e = exp(-u2), whose exponent has six roundings, two of them of the constants.
    e = np.exp(-u2)
    relative = 6 * EPS * u2 + EXP + 4 * EPS
    du2 = 2 * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)
    return e * relative + 3 * EPS, e * (1 + np.abs(x) * du2) * (2 * relative + 10 * EPS) + 6 * EPS


@given(seeds, sizes, scales, st.sampled_from(APPROXIMATE))
def test_gelu_equals_the_reference(seed, size, scale, approximate):
    x = normal(seed, size, scale)
    y = fk.gelu(x, approximate, out=poisoned(size))
    gate_bound, _ = bounds(x, approximate)
    assert_within(y, reference.gelu(x, approximate), np.abs(x) * gate_bound + TINY * np.maximum(1, np.abs(x)))


@given(seeds, sizes, scales, st.sampled_from(APPROXIMATE))
def test_gelu_backward_equals_the_reference(seed, size, scale, approximate):
    x, dy = normal(seed, size, scale), normal(seed + 1, size)
    dx = fk.gelu_backward(dy, x, approximate, out=poisoned(size))
    _, slope_bound = bounds(x, approximate)
    expected = reference.gelu_backward(dy, x, approximate)
    assert_within(dx, expected, np.abs(dy) * slope_bound + 2 * EPS * np.abs(expected) + TINY * np.maximum(1, np.abs(x)))


def test_gelu_keeps_its_relative_error_in_the_tail():
    x = np.linspace(-13, -1e-3, 20_001).astype(np.float32)
    exact = reference.gelu(x).astype(np.float64)
    relative = np.abs(fk.gelu(x) / exact - 1)
    assert (relative <= TAIL + EXP + EPS * (x.astype(np.float64) ** 2 / 2 + 3)).all()


@pytest.mark.parametrize("approximate", APPROXIMATE)
def test_gelu_passes_large_values_and_stops_large_negative_ones(approximate):
    x = np.float32([20, 1e4, 1e30, np.inf, -20, -1e4, -1e30, 0.0, np.nan])
    np.testing.assert_array_equal(fk.gelu(x, approximate), np.float32([20, 1e4, 1e30, np.inf, 0, 0, 0, 0, np.nan]))
    slope = fk.gelu_backward(np.ones(7, np.float32), x[[0, 1, 2, 4, 5, 6, 8]], approximate)
    np.testing.assert_array_equal(slope, np.float32([1, 1, 1, 0, 0, 0, np.nan]))


@pytest.mark.parametrize("approximate", APPROXIMATE)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3, 5)])
def test_gelu_takes_any_shape_and_works_in_place(shape, approximate):
    x, dy = normal(0, shape), normal(1, shape)
    y, dx = fk.gelu(x, approximate), fk.gelu_backward(dy, x, approximate)
    assert y.shape == dx.shape == shape
    over_dy, over_x = dy.copy(), x.copy()
    assert fk.gelu_backward(over_dy, x, approximate, out=over_dy) is over_dy
    assert fk.gelu_backward(dy, over_x, approximate, out=over_x) is over_x
    assert_same_bits(over_dy, dx)
    assert_same_bits(over_x, dx)
    assert fk.gelu(x, approximate, out=x) is x
    assert_same_bits(x, y)


def test_bad_arguments_are_refused_with_the_reason():
    x = normal(0, (4, 6))
    for error, match, call in [
        (ValueError, "approximate is 'erf', expected one of 'none', 'tanh'", lambda: fk.gelu(x, "erf")),
        (TypeError, "x has dtype float16, expected float32", lambda: fk.gelu(x.astype(np.float16))),
        (ValueError, r"x of shape \(4, 3\) has strides \(24, 8\)", lambda: fk.gelu(x[:, ::2])),
        (ValueError, r"dy has shape \(6,\), expected \(4, 6\): that of x", lambda: fk.gelu_backward(x[0], x)),
        (TypeError, "x has dtype >f4", lambda: fk.gelu(x.astype(">f4"))),
    ]:
        with pytest.raises(error, match=match):
            call()
