"""Medians, quantiles and covariances equal numpy's, and refuse what is not defined."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import Draw, examples

F32, F64 = flow.float32, flow.float64
INTERPOLATIONS = ["linear", "lower", "higher", "midpoint", "nearest"]


@st.composite
def arrays(draw, *dtypes, nans=False):
    d = Draw(draw, dtypes, False)
    x = np.ascontiguousarray(d.array(d.shape(min_dims=1, min_side=1), d.one_of(*dtypes)))
    if nans and d.flag():
        x[tuple(d.integer(0, n - 1) for n in x.shape)] = math.nan
    return x, d.dim(x.ndim), d.flag()


def lower_median(row):
    return math.nan if np.isnan(row).any() else np.sort(row)[(len(row) - 1) // 2]


@examples(50)
@given(arrays(F32, F64, flow.int32, flow.uint8))
def test_the_median_is_the_lower_of_the_middle_two(drawn):
    x, dim, keepdim = drawn
    values, places = flow.median(flow.from_numpy(x), dim, keepdim)
    expected = np.sort(x, dim).take([(x.shape[dim] - 1) // 2], dim)
    np.testing.assert_array_equal(values.numpy(), expected if keepdim else expected.squeeze(dim))
    found = np.take_along_axis(x, places.numpy() if keepdim else np.expand_dims(places.numpy(), dim), dim)
    np.testing.assert_array_equal(found, expected)
    assert flow.median(flow.from_numpy(x)).item() == lower_median(x.ravel())


@examples(50)
@given(arrays(F32, F64, nans=True))
def test_a_nan_is_the_median_unless_it_is_ignored(drawn):
    x, dim, keepdim = drawn
    values, places = flow.median(flow.from_numpy(x), dim, keepdim)
    np.testing.assert_array_equal(values.numpy(), np.apply_along_axis(lower_median, dim, x).reshape(values.shape))
    ignoring = flow.nanmedian(flow.from_numpy(x), dim, keepdim).values
    clean = lambda row: lower_median(row[~np.isnan(row)]) if (~np.isnan(row)).any() else math.nan  # noqa: E731
    np.testing.assert_array_equal(ignoring.numpy(), np.apply_along_axis(clean, dim, x).reshape(values.shape))
    np.testing.assert_array_equal(flow.nanmedian(flow.from_numpy(x)).item(), clean(x.ravel()))
    assert places.dtype is flow.int64


def test_medians_of_nothing():
    assert math.isnan(flow.median(flow.zeros(0)).item())
    with pytest.raises(ValueError, match=r"median: .* no elements in dim 1"):
        flow.median(flow.zeros(2, 0), 1)
    with pytest.raises(TypeError, match="median: bool"):
        flow.median(flow.tensor([True]))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("nans", [False, True])
def test_quantiles_are_numpy_s(interpolation, nans):
    @examples(25)
    @given(arrays(F64, nans=nans), st.lists(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0]), min_size=1, max_size=3))
    def law(drawn, q):
        x, dim, keepdim = drawn
        ours, theirs = (flow.nanquantile, np.nanquantile) if nans else (flow.quantile, np.quantile)
        out = ours(flow.from_numpy(x), flow.tensor(q, dtype=F64), dim, keepdim, interpolation=interpolation)
        expected = theirs(x, q, dim, keepdims=keepdim, method=interpolation)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-12)
        whole = ours(flow.from_numpy(x), q[0], interpolation=interpolation)
        np.testing.assert_allclose(whole.numpy(), theirs(x, q[0], method=interpolation), rtol=1e-12, atol=1e-12)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's about rows of NaN alone
        law()


def test_a_nan_is_every_quantile_unless_it_is_ignored():
    x = flow.tensor([[1.0, math.nan, 3.0], [1.0, 2.0, 3.0]])
    assert np.isnan(flow.quantile(x, 0.0, 1).numpy()).tolist() == [True, False]
    assert flow.nanquantile(x, 0.5, 1).tolist() == [2, 2]
    assert math.isnan(flow.nanquantile(flow.tensor([math.nan]), 0.5).item())


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("weighted", ["none", "f", "a", "both"])
def test_covariances_are_numpy_s(correction, weighted):
    rng = np.random.default_rng(1)
    x, f, a = rng.normal(size=(3, 6)), rng.integers(1, 4, 6), rng.uniform(0.5, 2, 6)
    weights = {"none": {}, "f": {"fweights": f}, "a": {"aweights": a}, "both": {"fweights": f, "aweights": a}}[weighted]
    out = flow.cov(flow.from_numpy(x), correction=correction, **{k: flow.from_numpy(w) for k, w in weights.items()})
    np.testing.assert_allclose(out.numpy(), np.cov(x, ddof=correction, **weights))


def test_covariances_of_one_variable_and_of_complex_numbers():
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=5), rng.normal(size=(2, 5)) + 1j * rng.normal(size=(2, 5))
    assert flow.cov(flow.from_numpy(x)).shape == ()
    np.testing.assert_allclose(flow.cov(flow.from_numpy(x)).item(), np.cov(x))
    np.testing.assert_allclose(flow.cov(flow.from_numpy(z)).numpy(), np.cov(z))
    np.testing.assert_allclose(flow.corrcoef(flow.from_numpy(z.real)).numpy(), np.corrcoef(z.real))
    assert flow.corrcoef(flow.from_numpy(x)).item() == 1
    assert flow.cov(flow.tensor([[1, 2], [3, 5]])).dtype is F32


X = flow.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: flow.quantile(X, 1.5), ValueError, r"quantile: q is 1.5, expected a number from 0 to 1"),
        (
            lambda: flow.quantile(X, flow.tensor([0.5, -1.0])),
            ValueError,
            r"q is \[0.5, -1.0\], expected numbers from 0",
        ),
        (lambda: flow.quantile(X.long(), 0.5), TypeError, "quantile: input is i64.* expected float32 or float64"),
        (lambda: flow.quantile(X, flow.zeros(1, dtype=F64)), ValueError, "quantile: q is f64"),
        (lambda: flow.quantile(X, flow.zeros(1, 1)), ValueError, "quantile: q is .* at most one dim"),
        (lambda: flow.quantile(X, 0.5, 2), ValueError, "quantile: dim 2 is out of range"),
        (lambda: flow.nanquantile(X, 0.5, interpolation="cubic"), ValueError, "interpolation is 'cubic'"),
        (lambda: flow.quantile(flow.zeros(0), 0.5), ValueError, "has no elements"),
        (lambda: flow.quantile(X, "half"), TypeError, "quantile: q is 'half'"),
        (lambda: flow.cov(flow.ones(1, 1, 1)), ValueError, "cov: .* 3 dims"),
        (lambda: flow.cov(X, fweights=flow.ones(3)), TypeError, "fweights is f32.* integers"),
        (lambda: flow.cov(X, aweights=flow.ones(2)), ValueError, "aweights is .* 3 observations"),
        (lambda: flow.cov(X, aweights=-flow.ones(3)), ValueError, "negative weight"),
    ],
)
def test_what_is_not_defined_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
