"""alpha, rounding_mode and dtype: PyTorch's keywords of arithmetic and softmax; and dividing integers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import Draw, examples

F32, F64, I32, I64 = flow.float32, flow.float64, flow.int32, flow.int64


@st.composite
def pairs(draw, *dtypes):
    d = Draw(draw, dtypes, False)
    shape, dtype = d.shape(), d.one_of(*dtypes)
    x, y = (d.array(d.narrowed(shape), dtype, -9, 9) for _ in range(2))
    return x, np.asarray(np.where(y == 0, 1, y), dtype)


@examples(40)
@given(pairs(F64, I64), st.sampled_from([2, -3, 1]))
def test_alpha_scales_the_second_addend(drawn, alpha):
    x, y = drawn
    a, b = flow.from_numpy(x), flow.from_numpy(y)
    for out, expected in (
        (flow.add(a, b, alpha=alpha), x + alpha * y),
        (a.sub(b, alpha=alpha), x - alpha * y),
        (flow.subtract(a, b, alpha=alpha), x - alpha * y),
        (flow.rsub(a, b, alpha=alpha), y - alpha * x),
    ):
        np.testing.assert_array_equal(out.numpy(), expected)
        assert out.dtype is x.dtype


def test_alpha_is_taken_in_the_result_s_dtype():
    x, y = flow.ones(2, dtype=F64), flow.tensor([1, 2], dtype=I32)
    assert flow.add(x, y, alpha=0.1).tolist() == [1 + 0.1, 1 + 0.1 * 2]
    assert flow.add(x, 3, alpha=2).tolist() == [7, 7]
    with pytest.raises(TypeError, match=r"add: alpha is 0.5, a float, beside int32"):
        flow.add(y, y, alpha=0.5)
    with pytest.raises(TypeError, match="rsub: input is 2, expected a tensor"):
        flow.rsub(2, x)


@examples(60)
@given(pairs(F64, F32, I64, flow.int8))
def test_quotients_round_down_or_towards_0(drawn):
    x, y = drawn
    a, b = flow.from_numpy(x), flow.from_numpy(y)
    for mode, rounded in (("floor", math.floor), ("trunc", math.trunc)):
        out = flow.div(a, b, rounding_mode=mode)
        exact = np.vectorize(lambda u, v, r=rounded: r(u / v), otypes=[float])(x.astype(F64), y.astype(F64))
        assert out.dtype is x.dtype
        np.testing.assert_array_equal(out.numpy(), exact)
        np.testing.assert_array_equal(flow.divide(a, b, rounding_mode=mode).numpy(), exact)
    np.testing.assert_array_equal(flow.div(a, b, rounding_mode=None).numpy(), flow.true_divide(a, b).numpy())


def test_large_integers_divide_without_rounding():
    x = flow.tensor([2**62 + 1, -(2**62) - 1])
    assert flow.div(x, 2, rounding_mode="trunc").tolist() == [2**61, -(2**61)]
    assert flow.div(x, 2, rounding_mode="floor").tolist() == [2**61, -(2**61) - 1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x, y: flow.div(x, y, rounding_mode="floor"), "floor_divide: an integer is divided by 0"),
        (lambda x, y: flow.div(x, y, rounding_mode="trunc"), "an integer is divided by 0"),
        (lambda x, y: x % y, "remainder: an integer is divided by 0"),
        (flow.fmod, "fmod: an integer is divided by 0"),
        (lambda x, y: flow.div(x, y, rounding_mode="up"), "div: rounding_mode is 'up'"),
    ],
)
def test_integers_are_not_divided_by_0(call, said):
    with pytest.raises(ValueError, match=said):
        call(flow.tensor([1, 2]), flow.tensor([1, 0]))


def test_floats_are():
    x, zero = flow.tensor([1.0, -1.0, 0.0]), flow.zeros(3)
    for mode in ("floor", "trunc"):
        np.testing.assert_array_equal(flow.div(x, zero, rounding_mode=mode).numpy(), [math.inf, -math.inf, math.nan])


def test_integers_have_negative_powers_as_far_as_they_are_whole():
    x = flow.tensor([1, -1, -1, 2, 0])
    assert (x ** flow.tensor([-1, -2, -3, -1, -1])).tolist() == [1, 1, -1, 0, 0]
    assert (x ** flow.tensor([2, 2, 3, 3, 0])).tolist() == [1, 1, -1, 8, 1]
    with pytest.raises(ValueError, match="negative"):
        x**-1


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_takes_a_dtype(name):
    x = flow.tensor([[1, 2, 3]])
    out = getattr(flow, name)(x, 1, dtype=F64)
    assert out.dtype is F64
    np.testing.assert_array_equal(out.numpy(), getattr(flow, name)(x.double(), dim=1).numpy())
    assert getattr(x, name)(-1, dtype=F32).dtype is F32


def test_the_gradients_of_softmax_are_functions_too():
    rng = np.random.default_rng(0)
    x, g = flow.from_numpy(rng.normal(size=(2, 3))), flow.from_numpy(rng.normal(size=(2, 3)))
    p, g_ = flow.softmax(x, dim=1), g.numpy()
    out = flow._softmax_backward_data(g, p, 1, F64).numpy()
    np.testing.assert_allclose(out, p.numpy() * (g_ - (g_ * p.numpy()).sum(1, keepdims=True)), rtol=1e-12)
    out = flow._log_softmax_backward_data(g, flow.log_softmax(x, dim=1), 1, F32)
    assert out.dtype is F32
    np.testing.assert_allclose(out.numpy(), g_ - p.numpy() * g_.sum(1, keepdims=True), rtol=1e-5)
    with pytest.raises(TypeError, match=r"_softmax_backward_data: .* floats"):
        flow._softmax_backward_data(g.long(), p, 1, F64)


def test_sums_and_means_take_a_dtype():
    x = flow.tensor([[1, 2], [3, 300]], dtype=flow.int16)
    assert (flow.sum(x, dtype=F64).item(), x.sum(0, dtype=I32).dtype) == (306, I32)
    assert flow.mean(x, 1, True, dtype=F32).tolist() == [[1.5], [151.5]]
    assert flow.nansum(x, dtype=F32).dtype is flow.nanmean(x, dtype=F32).dtype is F32
    assert flow.logsumexp(x, 0).dtype is F32
    with pytest.raises(ValueError, match="dtype 'f33' is not one of"):
        flow.sum(x, dtype="f33")
