"""Functions that walk along one dim equal numpy, element by element, on shapes with 0 and 1, and refuse what is not defined."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import Draw, examples

F32, F64, I64 = flow.float32, flow.float64, flow.int64


@st.composite
def arrays(draw, *dtypes, min_dims=1, min_side=0):
    """(an array of eighths with ties, one of its dims)."""
    d = Draw(draw, dtypes, False)
    x = d.array(d.shape(min_dims=min_dims, min_side=min_side), d.one_of(*dtypes))
    return x, d.dim(x.ndim)


def rows(x, dim):
    """The vectors along `dim`."""
    return np.moveaxis(x, dim, -1).reshape(-1, x.shape[dim]) if x.size else []


@examples(40)
@given(arrays(F32, F64, flow.int32, flow.bool))
def test_running_products_are_numpy_s(drawn):
    x, dim = drawn
    out = flow.cumprod(flow.from_numpy(x), dim)
    assert out.dtype is (x.dtype if x.dtype.kind == "f" else I64)
    np.testing.assert_array_equal(out.numpy(), np.cumprod(x, dim, dtype=out.dtype))
    assert flow.cumprod(flow.from_numpy(x), dim, dtype=F64).dtype is F64


@examples(40)
@given(arrays(F32, F64, flow.int32, flow.bool), st.booleans())
def test_running_extremes_are_the_last_of_equal_ones(drawn, largest):
    x, dim = drawn
    values, places = (flow.cummax if largest else flow.cummin)(flow.from_numpy(x), dim)
    assert (values.dtype, places.dtype, values.shape) == (x.dtype, I64, x.shape)
    better = (lambda a, b: a >= b) if largest else (lambda a, b: a <= b)
    for row, value, place in zip(rows(x, dim), rows(values.numpy(), dim), rows(places.numpy(), dim), strict=True):
        best = 0
        for i in range(len(row)):
            best = i if better(row[i], row[best]) else best
            assert (value[i], place[i]) == (row[best], best)


def test_a_nan_stays_the_extreme_until_another_is_met():
    x = flow.tensor([1.0, math.nan, 5.0, math.nan, 9.0])
    for function in (flow.cummax, flow.cummin):
        assert function(x, 0).indices.tolist() == [0, 1, 1, 3, 3]


@examples(40)
@given(arrays(F32, F64))
def test_running_sums_of_exponentials_are_their_logarithms(drawn):
    x, dim = drawn
    out = flow.logcumsumexp(flow.from_numpy(x), dim)
    exact = np.log(np.cumsum(np.exp(x.astype(F64)), dim))
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=8 * float(np.finfo(x.dtype).eps))


def test_running_sums_of_exponentials_neither_overflow_nor_lose_infinities():
    x = np.array([-math.inf, -math.inf, 1000.0, 1000.0, math.inf])
    out = flow.logcumsumexp(flow.from_numpy(x), 0).tolist()
    assert out == [-math.inf, -math.inf, 1000, 1000 + math.log(2), math.inf]
    z = np.array([1 + 1j, 2 - 1j, 0.5j])
    np.testing.assert_allclose(np.exp(flow.logcumsumexp(flow.from_numpy(z), 0).numpy()), np.cumsum(np.exp(z)))


@examples(40)
@given(arrays(F32, flow.int32, flow.bool, min_side=1))
def test_the_mode_is_the_smallest_of_the_most_frequent(drawn):
    x, dim = drawn
    values, places = flow.mode(flow.from_numpy(x), dim)
    kept = flow.mode(flow.from_numpy(x), dim, keepdim=True)
    assert (
        kept.values.shape == kept.indices.shape == tuple(1 if d == dim % x.ndim else n for d, n in enumerate(x.shape))
    )
    for row, value, place in zip(rows(x, dim), values.numpy().reshape(-1), places.numpy().reshape(-1), strict=True):
        counts = Counter(row.tolist())
        best = min(v for v, n in counts.items() if n == max(counts.values()))
        assert value == best
        assert place == max(i for i, v in enumerate(row) if v == best)


def test_a_float_is_its_mantissa_times_a_power_of_two():
    x = np.array([0.0, 1.0, -3.5, 1e-40, math.inf], np.float32)
    mantissa, exponent = flow.frexp(flow.from_numpy(x))
    assert exponent.dtype is flow.int32
    np.testing.assert_array_equal(np.ldexp(mantissa.numpy(), exponent.numpy()), x)
    assert ((abs(mantissa.numpy()[1:4]) >= 0.5) & (abs(mantissa.numpy()[1:4]) < 1)).all()


def test_the_next_float_is_numpy_s():
    x, y = np.array([1.0, 0.0, -1.0], np.float32), np.array([2.0, -1.0, -1.0], np.float32)
    np.testing.assert_array_equal(flow.nextafter(flow.from_numpy(x), flow.from_numpy(y)).numpy(), np.nextafter(x, y))


@pytest.mark.parametrize("p", [1, 2, 2.5, math.inf])
def test_renormed_slices_are_no_longer_than_the_bound(p):
    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    out = flow.renorm(flow.from_numpy(x), p, 1, 1.5).numpy()
    for i in range(4):
        norm = np.linalg.norm(x[:, i].ravel(), p)
        np.testing.assert_allclose(out[:, i], x[:, i] * (1.5 / (norm + 1e-7) if norm > 1.5 else 1))


X = flow.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: flow.cumprod(X, 2), ValueError, "cumprod: dim 2 is out of range"),
        (lambda: flow.cummax(X, 5), ValueError, "dim 5 is out of range"),
        (lambda: flow.logcumsumexp(X, 3), ValueError, "logcumsumexp: dim 3 is out of range"),
        (lambda: flow.logcumsumexp(X.long(), 0), TypeError, "logcumsumexp: .* integers"),
        (lambda: flow.mode(flow.zeros(2, 0)), ValueError, "has no elements in dim 1"),
        (lambda: flow.frexp(X.long()), TypeError, "frexp: .* float type"),
        (lambda: flow.renorm(flow.ones(3), 2, 0, 1.0), ValueError, "renorm: .* expected 2 or more"),
        (lambda: flow.renorm(X, 0, 0, 1.0), ValueError, "renorm: p is 0"),
        (lambda: flow.renorm(X, 2, 0, -1.0), ValueError, "renorm: maxnorm is -1"),
        (lambda: flow.nextafter(X, 1.0), TypeError, "nextafter"),
        (lambda: flow.atan2(X, 2.0), TypeError, "atan2.*: y is a Python float, expected a tensor"),
        (lambda: flow.hypot(2.0, X), TypeError, "hypot.*: x is a Python float, expected a tensor"),
        (lambda: flow.logical_or(X, True), TypeError, "logical_or.*: y is a Python bool, expected a tensor"),
    ],
)
def test_what_is_not_defined_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_0_d_tensors_are_their_own_running_values():
    x = flow.tensor(3.0)
    assert flow.cumprod(x, 0).item() == flow.logcumsumexp(x, -1).item() == flow.cummax(x, 0).values.item() == 3
    assert flow.mode(x).indices.item() == flow.cummin(x, 0).indices.item() == 0
