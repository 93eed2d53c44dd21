"""The functions that reduce or accumulate equal numpy and scipy, over any dims, on shapes with 0 and 1."""

import math

import numpy as np
import pytest
from scipy import special

import flow_core as flow

RTOL = 64 * np.finfo(np.float64).eps  # sums and products of up to 24 elements, and a function of them


def numbers(shape, low=-2, high=2):
    return np.asarray(np.random.default_rng(5).uniform(low, high, shape))


def lnorm(p):
    def reference(x, axis, keepdims):
        return (np.abs(x) ** p).sum(axis=axis, keepdims=keepdims) ** (1 / p)

    return reference


REDUCTIONS = {
    "prod": (flow.prod, np.prod),
    "var": (lambda x, dim, keepdim: flow.var(x, dim, keepdim=keepdim), lambda x, **k: np.var(x, ddof=1, **k)),
    "var of a population": (
        lambda x, dim, keepdim: flow.var(x, dim, unbiased=False, keepdim=keepdim),
        lambda x, **k: np.var(x, **k),
    ),
    "std": (lambda x, dim, keepdim: flow.std(x, dim, keepdim=keepdim), lambda x, **k: np.std(x, ddof=1, **k)),
    "logsumexp": (flow.logsumexp, special.logsumexp),
    "norm": (lambda x, dim, keepdim: flow.norm(x, 2, dim, keepdim), lnorm(2)),
    "norm of order 3": (lambda x, dim, keepdim: flow.norm(x, 3, dim, keepdim), lnorm(3)),
    "norm of order 1": (lambda x, dim, keepdim: flow.norm(x, 1, dim, keepdim), lnorm(1)),
    "nansum": (flow.nansum, np.nansum),
    "nanmean": (flow.nanmean, np.nanmean),
}


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("shape", "dim"), [((2, 3, 4), None), ((2, 3, 4), 1), ((2, 3, 4), (0, -1)), ((5, 1), 0), ((3,), -1)]
)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_equals_numpy(name, shape, dim, keepdim):
    function, reference = REDUCTIONS[name]
    x = numbers(shape)
    if name.startswith("nan"):
        x.flat[1] = math.nan
    expected = np.asarray(reference(x, axis=dim, keepdims=keepdim))
    out = function(flow.from_numpy(x), tuple(range(x.ndim)) if dim is None else dim, keepdim)
    assert (out.shape, out.dtype) == (expected.shape, flow.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=RTOL, atol=RTOL)


def test_reductions_of_nothing_are_their_neutral_elements():
    x = flow.zeros(2, 0)
    assert flow.prod(x, 1).tolist() == [1, 1]
    assert flow.logsumexp(x, 1).tolist() == [-math.inf, -math.inf]
    assert flow.count_nonzero(x).item() == 0
    assert np.isnan(flow.var(flow.ones(1)).item())
    with pytest.raises(ValueError, match="max: f32"):
        flow.max(x, 1)


def test_logsumexp_neither_overflows_nor_loses_infinities():
    x = flow.tensor([[1000.0, 1000.0], [-math.inf, -math.inf], [math.inf, 0.0]])
    np.testing.assert_allclose(flow.logsumexp(x, 1).numpy(), [1000 + math.log(2), -math.inf, math.inf])


def test_norms_of_special_orders():
    x = flow.tensor([3.0, 0.0, -4.0])
    assert flow.norm(x).item() == 5
    assert flow.norm(x, math.inf).item() == 4
    assert flow.norm(x, -math.inf).item() == 0
    assert flow.norm(x, 0).item() == 2
    assert flow.norm(x, "fro").item() == 5
    assert flow.dist(x, flow.zeros(3)).item() == 5


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_extremes_come_with_the_places_of_the_first(dim):
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 1.0]])
    for function, value, place in ((flow.max, np.max, np.argmax), (flow.min, np.min, np.argmin)):
        found = function(flow.from_numpy(x), dim)
        np.testing.assert_array_equal(found.values.numpy(), value(x, dim))
        np.testing.assert_array_equal(found.indices.numpy(), place(x, dim))
        assert function(flow.from_numpy(x), dim, keepdim=True)[0].ndim == 2
        assert function(flow.from_numpy(x)).item() == value(x)
    assert [v.item() for v in flow.aminmax(flow.from_numpy(x))] == [0, 3]
    assert flow.argmin(flow.tensor([True, False])).item() == 1


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_sorting_keeps_the_order_of_equal_elements(dim, descending):
    x = np.random.default_rng(1).integers(0, 3, (4, 5))
    values, places = flow.sort(flow.from_numpy(x), dim, descending)
    expected = np.flip(np.sort(x, dim), dim) if descending else np.sort(x, dim)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(x, places.numpy(), dim), expected)
    across = np.moveaxis(places.numpy(), dim, -1), np.moveaxis(values.numpy(), dim, -1)
    same = np.diff(across[1], axis=-1) == 0
    assert (np.diff(across[0], axis=-1)[same] > 0).all()


def test_the_largest_come_first_and_the_kth_is_named():
    x = flow.tensor([[1.0, 5.0, 3.0], [2.0, 2.0, 9.0]])
    values, places = flow.topk(x, 2)
    assert (values.tolist(), places.tolist()) == ([[5, 3], [9, 2]], [[1, 2], [2, 0]])
    assert flow.topk(x, 1, largest=False).values.tolist() == [[1], [2]]
    assert flow.kthvalue(x, 2).values.tolist() == [3, 2]
    assert flow.kthvalue(x, 2, keepdim=True).indices.tolist() == [[2], [1]]
    for wrong in (4, -1, True):
        with pytest.raises(ValueError, match="k is"):
            flow.topk(x, wrong)
        with pytest.raises(ValueError, match="k is"):
            flow.kthvalue(x, wrong)


def test_running_sums_differences_and_areas_equal_numpy():
    x = numbers((3, 4))
    t = flow.from_numpy(x)
    np.testing.assert_allclose(flow.cumsum(t, 1).numpy(), np.cumsum(x, 1), rtol=RTOL)
    assert flow.cumsum(flow.tensor([True, True]), 0).dtype is flow.int64
    np.testing.assert_array_equal(flow.diff(t, 2, 0).numpy(), np.diff(x, 2, 0))
    np.testing.assert_allclose(flow.trapezoid(t, dx=0.5).numpy(), np.trapezoid(x, dx=0.5), rtol=RTOL, atol=RTOL)
    places = np.array([0.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(
        flow.trapezoid(t, flow.from_numpy(places)).numpy(), np.trapezoid(x, places), rtol=RTOL, atol=RTOL
    )
    assert flow.cumulative_trapezoid(t).shape == (3, 3)


def test_sum_to_size_undoes_broadcasting():
    x = flow.ones(2, 3, 4)
    assert x.sum_to_size(3, 1).tolist() == [[8], [8], [8]]
    with pytest.raises(ValueError, match="does not broadcast"):
        x.sum_to_size(2, 4)
