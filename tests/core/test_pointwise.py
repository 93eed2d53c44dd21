"""The elementwise functions in terms of ops equal numpy and scipy, on shapes with 0 and 1, and refuse what is not defined."""

import math

import numpy as np
import pytest
from scipy import special

import flow_core as flow

SHAPES = [(), (0,), (1,), (3, 1), (2, 3)]


def rounded_quotient(rounding):
    return lambda a, b: rounding(a / b)


# function, reference, number of tensors, lowest and highest element
CASES = {
    "square": (flow.square, np.square, 1, -2, 2),
    "clamp": (lambda x: flow.clamp(x, -0.5, 1), lambda x: np.clip(x, -0.5, 1), 1, -2, 2),
    "clamp_min": (lambda x: flow.clamp_min(x, 0.25), lambda x: np.maximum(x, 0.25), 1, -2, 2),
    "clamp by tensors": (lambda x, a: flow.clamp(x, a, a + 1), lambda x, a: np.clip(x, a, a + 1), 2, -2, 2),
    "relu": (flow.relu, lambda x: np.maximum(x, 0), 1, -2, 2),
    "lerp": (lambda a, b: flow.lerp(a, b, 0.25), lambda a, b: a + 0.25 * (b - a), 2, -2, 2),
    "lerp by tensors": (flow.lerp, lambda a, b, w: a + w * (b - a), 3, -2, 2),
    "addcmul": (lambda a, b, c: flow.addcmul(a, b, c, value=3), lambda a, b, c: a + 3 * b * c, 3, -2, 2),
    "addcdiv": (lambda a, b, c: flow.addcdiv(a, b, c, value=3), lambda a, b, c: a + 3 * b / c, 3, 0.5, 2),
    "rsub": (lambda a, b: flow.rsub(a, b, alpha=2), lambda a, b: b - 2 * a, 2, -2, 2),
    "frac": (flow.frac, lambda x: x - np.trunc(x), 1, -2, 2),
    "deg2rad": (flow.deg2rad, np.deg2rad, 1, -360, 360),
    "rad2deg": (flow.rad2deg, np.rad2deg, 1, -6, 6),
    "sinc": (flow.sinc, np.sinc, 1, -2, 2),
    "digamma": (flow.digamma, special.digamma, 1, 0.5, 4),
    "mvlgamma": (lambda x: flow.mvlgamma(x, 3), lambda x: special.multigammaln(x, 3), 1, 2, 5),
    "xlogy": (flow.xlogy, special.xlogy, 2, 0, 3),
    "ldexp": (flow.ldexp, lambda a, b: a * 2.0**b, 2, -2, 2),
    "float_power": (flow.float_power, np.float_power, 2, 0.5, 2),
    "divide by trunc": (
        lambda a, b: flow.divide(a, b, rounding_mode="trunc"),
        rounded_quotient(np.trunc),
        2,
        0.6,
        5,
    ),
    "divide by floor": (
        lambda a, b: flow.divide(a, b, rounding_mode="floor"),
        rounded_quotient(np.floor),
        2,
        0.6,
        5,
    ),
}
# In these few roundings meet; none of the references is further than this from the exact value.
RTOL = 64 * np.finfo(np.float64).eps


def arrays(count, shape, low, high):
    rng = np.random.default_rng(count)
    return [np.asarray(rng.uniform(low, high, shape)) for _ in range(count)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_function_equals_its_reference(name, shape):
    function, reference, count, low, high = CASES[name]
    given = arrays(count, shape, low, high)
    out = function(*[flow.from_numpy(a) for a in given])
    expected = np.asarray(reference(*given))
    assert (out.shape, out.dtype) == (expected.shape, flow.float64)
    # mvlgamma and sinc cancel near their zeros, whose size the sizes of the terms bound: 8 is above all of them.
    np.testing.assert_allclose(out.numpy(), expected, rtol=RTOL, atol=8 * RTOL)


def test_clamp_and_relu_keep_nan():
    x = flow.tensor([math.nan, -1.0, 5.0])
    np.testing.assert_array_equal(flow.clamp(x, 0, 2).numpy(), [math.nan, 0, 2])
    np.testing.assert_array_equal(flow.relu(x).numpy(), [math.nan, 0, 5])
    with pytest.raises(ValueError, match="give min, max or both"):
        flow.clamp(x)


def test_xlogy_is_zero_at_zero_and_nan_beside_nan():
    np.testing.assert_array_equal(
        flow.xlogy(flow.tensor([0.0, 0.0, 2.0]), flow.tensor([0.0, math.nan, 1.0])).numpy(), [0, math.nan, 0]
    )


def test_nan_to_num_replaces_what_is_not_finite():
    x = flow.tensor([math.nan, math.inf, -math.inf, 1.5])
    high = np.finfo(np.float32).max
    np.testing.assert_array_equal(flow.nan_to_num(x).numpy(), np.array([0, high, -high, 1.5], np.float32))
    np.testing.assert_array_equal(flow.nan_to_num(x, 7.0, 8.0, 9.0).numpy(), [7, 8, 9, 1.5])


def test_heaviside_takes_its_values_at_zero():
    x = flow.tensor([-1.0, 0.0, 2.0, math.nan])
    np.testing.assert_array_equal(flow.heaviside(x, flow.tensor(0.5)).numpy(), [0, 0.5, 1, math.nan])


def test_predicates_tell_infinities_apart():
    x = flow.tensor([math.inf, -math.inf, 0.0, math.nan])
    assert flow.isposinf(x).tolist() == [True, False, False, False]
    assert flow.isneginf(x).tolist() == [False, True, False, False]
    assert flow.isposinf(flow.arange(2)).tolist() == [False, False]


def test_closeness_and_equality_are_numpy_s():
    a = flow.tensor([1.0, math.inf, math.nan, 1.0])
    b = flow.tensor([1.0 + 1e-7, math.inf, math.nan, 2.0])
    assert flow.isclose(a, b).tolist() == [True, True, False, False]
    assert flow.isclose(a, b, equal_nan=True).tolist() == [True, True, True, False]
    assert flow.allclose(a[:2], b[:2])
    assert not flow.equal(a, a)
    assert flow.equal(flow.arange(3), flow.arange(3))
    assert flow.isclose(flow.arange(3), flow.tensor([0, 1, 3])).tolist() == [True, True, False]
    with pytest.raises(TypeError, match="must have one dtype"):
        flow.isclose(a, flow.arange(4))
    with pytest.raises(ValueError, match="rtol"):
        flow.isclose(a, b, rtol=-1)


def test_bits_turn_and_numbers_are_refused():
    assert flow.bitwise_not(flow.tensor([0, 5])).tolist() == [-1, -6]
    assert (~flow.tensor([True, False])).tolist() == [False, True]
    assert flow.bitwise_not(flow.tensor([0, 5]).to(flow.uint8)).tolist() == [255, 250]
    with pytest.raises(TypeError, match="bitwise_not"):
        flow.bitwise_not(flow.tensor([1.0]))


def test_masked_fill_wants_bools_and_one_value():
    x = flow.ones(2, 2)
    assert flow.masked_fill(x, flow.tensor([True, False]), 5).tolist() == [[5, 1], [5, 1]]
    with pytest.raises(TypeError, match="of bools"):
        flow.masked_fill(x, flow.tensor([1, 0]), 5)
    with pytest.raises(ValueError, match="0-d"):
        flow.masked_fill(x, flow.tensor([True, False]), flow.ones(2))


def test_division_of_integers_rounds_as_asked():
    a, b = flow.tensor([7, -7]), flow.tensor([2, 2])
    assert flow.divide(a, b, rounding_mode="trunc").tolist() == [3, -3]
    assert flow.divide(a, b, rounding_mode="floor").tolist() == [3, -4]
    assert flow.divide(a, b).tolist() == [3.5, -3.5]
    with pytest.raises(ValueError, match="rounding_mode"):
        flow.divide(a, b, rounding_mode="up")


def test_what_has_no_meaning_is_refused():
    with pytest.raises(ValueError, match="mvlgamma: p is 0"):
        flow.mvlgamma(flow.ones(2), 0)
    with pytest.raises(TypeError, match="addcdiv"):
        flow.addcdiv(flow.ones(2), flow.arange(2), flow.arange(2))
    with pytest.raises(TypeError, match="bools"):
        flow.floor(flow.tensor([True]))
