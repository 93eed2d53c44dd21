"""What flow.masked computes is what the function gives on the elements that the mask keeps, and nothing else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import Draw, examples

masked = flow.masked
F32, F64, I64 = flow.float32, flow.float64, flow.int64


@st.composite
def cases(draw, *dtypes):
    """(array, mask that broadcasts to it or None, one of its dims, keepdim)."""
    d = Draw(draw, dtypes, False)
    x = np.ascontiguousarray(d.array(d.shape(min_dims=1, min_side=1), d.one_of(*dtypes)))
    mask = None if d.integer(0, 4) == 0 else np.asarray(d.array(d.narrowed(x.shape), flow.bool))
    return x, mask, d.dim(x.ndim), d.flag()


def as_mask(mask):
    return None if mask is None else flow.from_numpy(np.ascontiguousarray(mask))


def by_row(function, x, mask, dim, keepdim):
    """`function` of the kept elements of each row along `dim`."""
    kept = np.broadcast_to(True if mask is None else mask, x.shape)
    rows = np.moveaxis(x, dim, -1).reshape(-1, x.shape[dim])
    masks = np.moveaxis(kept, dim, -1).reshape(-1, x.shape[dim])
    out = np.array([function(row[m]) for row, m in zip(rows, masks, strict=True)])
    shape = [n for d, n in enumerate(x.shape) if d != dim % x.ndim]
    return np.expand_dims(out.reshape(shape), dim) if keepdim else out.reshape(shape)


def lower_median(row):
    return np.sort(row)[(len(row) - 1) // 2] if len(row) else math.nan


def deviation(correction):
    def function(row):
        with np.errstate(all="ignore"):
            squares = ((row - row.sum() / np.float64(len(row))) ** 2).sum() if len(row) else 0.0
            return np.float64(squares) / np.float64(max(len(row) - correction, 0))

    return function


REDUCTIONS = {
    "sum": (masked.sum, np.sum),
    "prod": (masked.prod, np.prod),
    "amax": (masked.amax, lambda row: row.max(initial=-math.inf)),
    "amin": (masked.amin, lambda row: row.min(initial=math.inf)),
    "mean": (masked.mean, lambda row: row.mean() if len(row) else math.nan),
    "median": (masked.median, lower_median),
    "norm": (lambda x, dim, **k: masked.norm(x, 2.0, dim, **k), lambda row: np.sqrt((row * row).sum())),
    "norm of order 0": (lambda x, dim, **k: masked.norm(x, 0, dim, **k), np.count_nonzero),
    "norm of order inf": (lambda x, dim, **k: masked.norm(x, math.inf, dim, **k), lambda r: abs(r).max(initial=0)),
    "norm of order -inf": (
        lambda x, dim, **k: masked.norm(x, -math.inf, dim, **k),
        lambda r: abs(r).min(initial=math.inf),
    ),
    "var": (masked.var, deviation(1)),
    "var of a population": (lambda x, dim, **k: masked.var(x, dim, False, **k), deviation(0)),
    "std": (masked.std, lambda row: math.sqrt(deviation(1)(row))),
    "logsumexp": (masked.logsumexp, lambda row: np.log(np.exp(row).sum()) if len(row) else -math.inf),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_of_the_kept_elements(name):
    function, reference = REDUCTIONS[name]

    @examples(25)
    @given(cases(F64))
    def law(case):
        x, mask, dim, keepdim = case
        out = function(flow.from_numpy(x), dim, keepdim=keepdim, mask=as_mask(mask))
        expected = by_row(reference, x, mask, dim, keepdim)
        assert out.shape == expected.shape
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-12)

    law()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_a_place_is_that_of_the_extreme_kept_element(name):
    @examples(25)
    @given(cases(F64, flow.int32))
    def law(case):
        x, mask, dim, keepdim = case
        kept = np.broadcast_to(True if mask is None else mask, x.shape)
        least = {"f": math.inf, "i": 2**31 - 1}[x.dtype.kind]
        low = np.where(kept, x, -least - (x.dtype.kind == "i") if name == "argmax" else least)
        out = getattr(masked, name)(flow.from_numpy(x), dim, keepdim=keepdim, mask=as_mask(mask))
        assert out.dtype is x.dtype
        np.testing.assert_array_equal(out.numpy(), getattr(np, name)(low, dim, keepdims=keepdim))

    law()


RUNNING = {"cumsum": (masked.cumsum, np.cumsum, 0), "cumprod": (masked.cumprod, np.cumprod, 1)}


@pytest.mark.parametrize("name", RUNNING)
def test_a_running_value_takes_what_is_left_out_as_neutral(name):
    function, reference, neutral = RUNNING[name]

    @examples(25)
    @given(cases(F64, flow.int32))
    def law(case):
        x, mask, dim, _ = case
        out = function(flow.from_numpy(x), dim, mask=as_mask(mask))
        assert out.dtype is (I64 if x.dtype.kind == "i" else F64)
        np.testing.assert_array_equal(out.numpy(), reference(x if mask is None else np.where(mask, x, neutral), dim))

    law()


def softmax(row):
    return np.exp(row) / np.exp(row).sum()


NORMAL = {
    "softmax": (masked.softmax, softmax, 0),
    "log_softmax": (masked.log_softmax, lambda row: np.log(softmax(row)), -math.inf),
    "softmin": (masked.softmin, lambda row: softmax(-row), 0),
    "normalize": (
        lambda x, dim, **k: masked.normalize(x, 2.0, dim, **k),
        lambda row: row / max(np.linalg.norm(row), 1e-12),
        0,
    ),
}


@pytest.mark.parametrize("name", NORMAL)
def test_rows_are_normalised_over_what_is_kept(name):
    function, reference, elsewhere = NORMAL[name]

    @examples(25)
    @given(cases(F64))
    def law(case):
        x, mask, dim, _ = case
        out = np.moveaxis(function(flow.from_numpy(x), dim, mask=as_mask(mask)).numpy(), dim, -1)
        kept = np.moveaxis(np.broadcast_to(True if mask is None else mask, x.shape), dim, -1)
        x = np.moveaxis(x, dim, -1)
        for place in np.ndindex(x.shape[:-1]):
            row, m = x[place], kept[place]
            if m.any():
                np.testing.assert_allclose(out[place][m], reference(row[m]), rtol=1e-12, atol=1e-12)
                assert (out[place][~m] == elsewhere).all()

    law()


def test_logaddexp_takes_what_is_left_out_as_minus_infinity():
    x, y = flow.tensor([1.0, 2.0]), flow.tensor([1.0, 5.0])
    out = masked.logaddexp(x, y, input_mask=flow.tensor([True, False]), other_mask=flow.tensor([False, True]))
    assert out.tolist() == [1, 5]


def test_where_nothing_is_kept_a_result_is_neutral():
    x, none = flow.ones(2, 3, dtype=flow.int8), flow.zeros(2, 3, dtype=flow.bool)
    assert masked.sum(x, 1, mask=none).tolist() == [0, 0]
    assert masked.prod(x, mask=none).item() == 1
    assert masked.amax(x, mask=none).item() == -128
    assert masked.amin(x, mask=none).item() == 127
    assert masked.amax(x, mask=none).dtype is flow.int8
    assert math.isnan(masked.mean(x, dtype=F32, mask=none).item())
    with pytest.raises(ValueError, match=r"masked.median: the mask leaves nothing"):
        masked.median(x, mask=none)


def test_dtypes_are_torch_s():
    x = flow.ones(2, 3, dtype=flow.int32)
    mask = flow.tensor([1, 0, 1])  # numbers count as bools
    assert masked.sum(x, mask=mask).item() == 4
    assert masked.sum(x, dtype=F32).dtype is F32
    assert masked.var(x).dtype is F32
    assert masked.median(x).dtype is flow.int32
    assert masked.sum(x, ()).shape == ()


X = flow.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: masked.sum(X, mask=flow.ones(4, dtype=flow.bool)), ValueError, "sum.* broadcast"),
        (lambda: masked.sum(X, mask=flow.ones(1, 2, 3, dtype=flow.bool)), ValueError, "sum: mask .* broadcast"),
        (lambda: masked.amax(X, mask=True), TypeError, "amax: mask is a bool, expected a tensor"),
        (lambda: masked.sum(X, 2), ValueError, r"masked.sum: dim 2 is out of range"),
        (lambda: masked.prod(X, (0, 0)), ValueError, r"masked.prod: .* twice"),
        (lambda: masked.mean(X.long()), ValueError, r"masked.mean: .* float dtype"),
        (lambda: masked.std(X, unbiased=True, correction=1), ValueError, r"masked.std: give unbiased or correction"),
    ],
)
def test_what_is_not_defined_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
