"""Pools equal loops over their windows; unpooling puts back what a pool took."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def named(kind, num_dims):
    return getattr(F, f"{kind}{num_dims}d")


@st.composite
def pooled(draw, dilations=(1,)):
    """(x, settings): windows that fit, with ceil_mode and without."""
    n = draw(st.integers(1, 3))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(n))  # noqa: E731
    kernel, stride = each(1, 4), each(1, 3)
    dilation = tuple(draw(st.sampled_from(dilations)) for _ in range(n))
    padding = tuple(draw(st.integers(0, k // 2 if d == 1 else 0)) for k, d in zip(kernel, dilation, strict=True))
    size = tuple(d * (k - 1) + 1 + draw(st.integers(0, 3)) for k, d in zip(kernel, dilation, strict=True))
    attrs = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": draw(st.booleans())}
    return numbers(1, 2, *size, seed=draw(st.integers(0, 9))), attrs, dilation


def spans(size, kernel, stride, padding, ceil_mode, dilation):
    """Along one dim: the places of each window that lie in the tensor, and how many lie in it or its padding."""
    reach = dilation * (kernel - 1) + 1
    start = -padding
    while start + reach <= size + padding or (ceil_mode and start < min(size, size + padding - reach + stride)):
        taps = [start + i * dilation for i in range(kernel)]
        yield [t for t in taps if 0 <= t < size], sum(t < size + padding for t in taps)
        start += stride


def windows(x, attrs, dilation):
    """The shape of the places, and for each the row-major ids of its elements and the number that counts with padding."""
    size = x.shape[2:]
    dims = [
        [*spans(n, k, s, p, attrs["ceil_mode"], d)]
        for n, k, s, p, d in zip(size, attrs["kernel_size"], attrs["stride"], attrs["padding"], dilation, strict=True)
    ]
    found = []
    for place in itertools.product(*dims):
        ids = [np.ravel_multi_index(at, size) for at in itertools.product(*[taps for taps, _ in place])]
        found.append((ids, math.prod(count for _, count in place)))
    return tuple(map(len, dims)), found


@examples(80)
@given(pooled(), st.booleans(), st.sampled_from([None, 3, -2]))
def test_an_average_pool_takes_means(drawn, count_include_pad, divisor):
    x, attrs, dilation = drawn
    shape, found = windows(x, attrs, dilation)
    n, flat = len(shape), x.reshape(2, -1)
    divisor = None if n == 1 else divisor
    by = [divisor or (count if count_include_pad else len(ids)) for ids, count in found]
    expected = np.stack([flat[:, ids].sum(1) / d for (ids, _), d in zip(found, by, strict=True)], 1)
    override = {} if n == 1 else {"divisor_override": divisor}
    out = named("avg_pool", n)(flow.tensor(x), count_include_pad=count_include_pad, **attrs, **override)
    np.testing.assert_allclose(out.numpy(), expected.reshape(1, 2, *shape), atol=1e-12)
    alone = named("avg_pool", n)(flow.tensor(x[0]), count_include_pad=count_include_pad, **attrs, **override)
    np.testing.assert_array_equal(alone.numpy(), out.numpy()[0])


@examples(80)
@given(pooled(dilations=(1, 2)), st.sampled_from([flow.float64, flow.int64, flow.bfloat16]))
def test_a_max_pool_takes_the_largest_and_says_where(drawn, dtype):
    x, attrs, dilation = drawn
    assume(not attrs["ceil_mode"] or dilation == (1,) * len(dilation))
    x = (4 * x).astype(dtype)
    shape, found = windows(x, attrs, dilation)
    flat = x.reshape(2, -1)
    places = np.stack([np.take(ids, flat[:, ids].argmax(1)) for ids, _ in found], 1)
    expected = np.take_along_axis(flat, places, 1)
    pool = named("max_pool", len(shape))
    out, ids = pool(flow.tensor(x), dilation=dilation, return_indices=True, **attrs)
    assert out.dtype == dtype
    np.testing.assert_array_equal(ids.numpy(), places.reshape(1, 2, *shape))
    np.testing.assert_array_equal(out.numpy(), expected.reshape(1, 2, *shape))
    np.testing.assert_array_equal(pool(flow.tensor(x[0]), dilation=dilation, **attrs).numpy(), out.numpy()[0])


@examples(80)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 9)), min_size=1, max_size=3), st.data())
def test_adaptive_pools_cover_the_tensor(dims, data):
    size, parts = [n for n, _ in dims], [p for _, p in dims]
    x = numbers(2, 2, *size)
    mean, best = np.zeros((2, 2, *parts)), np.zeros((2, 2, *parts))
    for place in np.ndindex(*parts):
        part = x[(..., *[slice(i * n // p, -(-(i + 1) * n // p)) for i, n, p in zip(place, size, parts, strict=True)])]
        over = tuple(range(2, part.ndim))
        mean[(..., *place)], best[(..., *place)] = part.mean(over), part.max(over)
    given_size = [None if n == p and data.draw(st.booleans()) else p for n, p in dims]
    out = named("adaptive_avg_pool", len(dims))(flow.tensor(x), given_size)
    np.testing.assert_allclose(out.numpy(), mean, atol=1e-12)
    out, ids = named("adaptive_max_pool", len(dims))(flow.tensor(x), given_size, True)
    np.testing.assert_array_equal(out.numpy(), best)
    flat = np.take_along_axis(x.reshape(2, 2, -1), ids.numpy().reshape(2, 2, -1), -1)
    np.testing.assert_array_equal(flat.reshape(best.shape), best)


def test_what_is_infinite_stays_where_it_is():
    x = flow.tensor([[[np.inf, 1.0, 2.0, 3.0, 4.0]]])
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[np.inf, 2.0, 3.5]]]
    assert F.avg_pool1d(x, 2).tolist() == [[[np.inf, 2.5]]]


def test_integers_are_divided_towards_zero():
    x = flow.tensor([[[-3, -2, 4, 3]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[-2, 3]]]


def test_a_power_mean_pool():
    x = np.abs(numbers(1, 1, 4, 6))
    out = F.lp_pool2d(flow.tensor(x), 3, (2, 3)).numpy()
    blocks = x.reshape(2, 2, 2, 3).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(out[0, 0], (blocks**3).sum((2, 3)) ** (1 / 3), atol=1e-12)
    np.testing.assert_allclose(F.lp_pool1d(flow.tensor(x[0]), 2, 2).numpy()[0, 0, 0], np.hypot(*x[0, 0, 0, :2]))


@pytest.mark.parametrize("num_dims", [1, 2, 3])
def test_unpooling_puts_back_what_a_pool_took(num_dims):
    x = flow.tensor(numbers(2, 2, *[5] * num_dims))
    out, ids = named("max_pool", num_dims)(x, 2, return_indices=True)
    back = named("max_unpool", num_dims)(out, ids, 2, output_size=x.shape)
    taken = np.isin(x.numpy(), out.numpy())
    np.testing.assert_array_equal(back.numpy(), np.where(taken, x.numpy(), 0))
    assert named("max_unpool", num_dims)(out, ids % 4, 2).shape == (2, 2, *[4] * num_dims)
    with pytest.raises(ValueError, match="output_size"):
        named("max_unpool", num_dims)(out, ids, 2, output_size=[7] * num_dims)
    with pytest.raises(IndexError, match="out of range"):
        named("max_unpool", num_dims)(out, ids + 10**6, 2)


def test_fractional_windows_cover_the_tensor_and_stay_inside():
    x = flow.tensor(numbers(2, 3, 9, 8))
    flow.manual_seed(0)
    out, ids = F.fractional_max_pool2d(x, 2, output_size=(4, 5), return_indices=True)
    flat = np.take_along_axis(x.numpy().reshape(2, 3, -1), ids.numpy().reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(flat.reshape(out.shape), out.numpy())
    assert F.fractional_max_pool3d(flow.ones(1, 1, 6, 6, 6), 2, output_ratio=0.5).shape == (1, 1, 3, 3, 3)
    # Of one sample the windows are known: alpha = (9 - 2) / 3 for the height, (8 - 2) / 4 for the width.
    samples = flow.tensor(np.full((2, 3, 2), 0.5))
    out = F.fractional_max_pool2d(x, 2, output_size=(4, 5), _random_samples=samples).numpy()
    rows = [int((i + 0.5) * 7 / 3) - int(3.5 / 3) for i in range(3)] + [7]
    cols = [int((i + 0.5) * 1.5) for i in range(4)] + [6]
    for i, j in np.ndindex(4, 5):
        part = x.numpy()[:, :, rows[i] : rows[i] + 2, cols[j] : cols[j] + 2]
        np.testing.assert_array_equal(out[:, :, i, j], part.max((2, 3)))


def test_arguments_that_do_not_fit_are_refused():
    x = flow.ones(1, 1, 4, 4)
    for wrong in ({"padding": 2}, {"padding": -1}, {"stride": 0}, {"kernel_size": 5}, {"kernel_size": (1, 2, 3)}):
        with pytest.raises(ValueError, match="pool2d"):
            F.max_pool2d(x, **{"kernel_size": 3, **wrong})
        with pytest.raises(ValueError, match="pool2d"):
            F.avg_pool2d(x, **{"kernel_size": 3, **wrong})
    with pytest.raises(ValueError, match="divisor_override is 0"):
        F.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(ValueError, match="padding alone"):
        F.max_pool1d(flow.ones(1, 1, 1), 2, padding=2, dilation=3)
    with pytest.raises(ValueError, match="empty dim"):
        F.max_pool1d(flow.ones(1, 0, 3), 1)
    with pytest.raises(ValueError, match="output_size"):
        F.adaptive_avg_pool2d(x, (1, 2, 3))
    with pytest.raises(TypeError, match="float type"):
        F.adaptive_avg_pool2d(x.long(), 1)
    with pytest.raises(ValueError, match="one of output_size and output_ratio"):
        F.fractional_max_pool2d(x, 2)
    assert F.avg_pool2d(flow.ones(0, 1, 4, 4), 2).shape == (0, 1, 2, 2)


X = np.random.default_rng(5).permutation(24).reshape(1, 2, 3, 4) / 4  # no ties
GRADIENTS = {
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2, 1, 1, True, False),
    "avg_pool1d": lambda x: F.avg_pool1d(x[0], 3, 2, 1, True),
    "max_pool2d": lambda x: F.max_pool2d(x, 2, 1, 1),
    "lp_pool2d": lambda x: F.lp_pool2d(x + 1, 3, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (2, 3)),
    "max_unpool2d": lambda x: F.max_unpool2d(x, flow.arange(24).reshape(1, 2, 3, 4) * 2, 2),
    "fractional": lambda x: F.fractional_max_pool2d(x, 2, 2, _random_samples=flow.full((1, 2, 2), 0.3)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_finite_differences(name):
    check_grads(GRADIENTS[name], X)
