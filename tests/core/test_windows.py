"""Convolutions, windows and picking by place equal loops over their definitions, in which adjoint pairs share one list of terms."""

import itertools

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.ops.conv import conv
from flow_core.ops.window import add_windows, pick, window_argmax, windows
from flow_core.testing import calls, examples


def taps(size, kernel, places, stride, padding, dilation):
    """(place, tap, position) of every element of a window that is no padding."""
    for t in itertools.product(*map(range, places)):
        for k in itertools.product(*map(range, kernel)):
            at = [i * s + j * d - p[0] for i, s, j, d, p in zip(t, stride, k, dilation, padding, strict=True)]
            if all(0 <= a < n for a, n in zip(at, size, strict=True)):
                yield t, k, tuple(at)


def convolved(call, output, x, weight):
    """Adds every product of the trilinear form to that of its arrays which is None; returns it."""
    attrs = {name: call.attrs[name] for name in ("stride", "padding", "dilation")}
    groups, found = call.attrs["groups"], np.zeros(call.run()[0].shape)
    y, x, w = (found if a is None else a for a in (output, x, weight))
    outs, inner = w.shape[0] // groups, w.shape[1]
    for t, k, at in taps(x.shape[2:], w.shape[2:], y.shape[2:], **attrs):
        for n, o, c in itertools.product(range(y.shape[0]), range(w.shape[0]), range(inner)):
            i, j, m = (n, o, *t), (n, o // outs * inner + c, *at), (o, c, *k)
            if output is None:
                found[i] += x[j] * w[m]
            elif found is x:
                found[j] += y[i] * w[m]
            else:
                found[m] += y[i] * x[j]
    return found


@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_weight"])
def test_a_convolution_is_the_sum_of_its_products(name):
    @examples(40)
    @given(calls(name, (flow.float64, flow.float32)))
    def law(call):
        a, b = call.args
        arrays = {"conv": (None, a, b), "conv_input": (a, None, b), "conv_weight": (a, b, None)}[name]
        np.testing.assert_allclose(call.run()[0].data, convolved(call, *arrays), rtol=1e-6, atol=1e-6)

    law()


@examples(60)
@given(calls("windows"))
def test_windows_hold_the_elements_of_the_input_and_zeros(call):
    (x,), attrs = call.args, dict(call.attrs)
    n = len(attrs["kernel"])
    out = call.run()[0].data
    expected = np.zeros(out.shape, x.dtype)
    for t, k, at in taps(x.shape[x.ndim - n :], places=out.shape[-2 * n : -n], **attrs):
        expected[(..., *t, *k)] = x[(..., *at)]
    np.testing.assert_array_equal(out, expected)


@examples(60)
@given(calls("add_windows", (flow.float64, flow.int64)))
def test_add_windows_adds_each_element_where_it_was_taken(call):
    (g,), attrs = call.args, dict(call.attrs)
    size = attrs.pop("size")
    n = len(size)
    expected = np.zeros((*g.shape[: g.ndim - 2 * n], *size), g.dtype)
    for t, k, at in taps(size, g.shape[g.ndim - n :], g.shape[g.ndim - 2 * n : g.ndim - n], **attrs):
        expected[(..., *at)] += g[(..., *t, *k)]
    np.testing.assert_array_equal(call.run()[0].data, expected)


@examples(60)
@given(calls("window_argmax", (flow.float32, flow.int64)))
def test_window_argmax_names_the_first_largest_element(call):
    (x,), attrs = call.args, dict(call.attrs)
    n = len(attrs["kernel"])
    size = x.shape[x.ndim - n :]
    out = call.run()[0].data
    best, expected = np.full(out.shape, -np.inf), np.full(out.shape, -1)
    for t, _, at in taps(size, places=out.shape[x.ndim - n :], **attrs):
        better = x[(..., *at)] > best[(..., *t)]
        expected[(..., *t)] = np.where(better, np.ravel_multi_index(at, size), expected[(..., *t)])
        best[(..., *t)] = np.where(better, x[(..., *at)], best[(..., *t)])
    np.testing.assert_array_equal(out, expected)


def test_padding_is_never_the_largest_and_nan_is():
    attrs = {"kernel": (2,), "stride": (2,), "padding": ((1, 1),), "dilation": (1,)}
    x = flow.tensor([[-np.inf, 1.0, np.nan, -np.inf]])
    assert window_argmax(x, **attrs).tolist() == [[0, 2, 3]]


@examples(60)
@given(calls("pick"))
def test_pick_takes_elements_by_place(call):
    x, ids = call.args
    where = np.broadcast_to(ids, (*x.shape[:-1], ids.shape[-1]))
    out = call.run()[0].data
    for place in np.ndindex(where.shape):
        assert out[place] == (0 if where[place] < 0 else x[(*place[:-1], where[place])])


@examples(60)
@given(calls("place", (flow.float64, flow.int64)))
def test_place_adds_elements_by_place(call):
    g, ids = call.args
    where = np.broadcast_to(ids, g.shape)
    expected = np.zeros((*g.shape[:-1], call.attrs["n"]), g.dtype)
    for at in np.ndindex(g.shape):
        if where[at] >= 0:
            expected[(*at[:-1], where[at])] += g[at]
    np.testing.assert_array_equal(call.run()[0].data, expected)


@examples(40)
@given(calls("put"))
def test_put_writes_elements_by_place(call):
    x, ids = call.args
    where = np.broadcast_to(ids, x.shape)
    expected = np.zeros((*x.shape[:-1], call.attrs["n"]), x.dtype)
    for at in np.ndindex(x.shape):
        if where[at] >= 0:
            expected[(*at[:-1], where[at])] = x[at]
    np.testing.assert_array_equal(call.run()[0].data, expected)


@examples(60)
@given(calls("window_sum", (flow.float64, flow.int64, flow.int8)))
def test_a_window_sum_is_the_sum_of_the_window(call):
    (x,), attrs = call.args, call.attrs
    n = len(attrs["kernel"])
    view = windows(*call.tensors(), **attrs).data
    expected = view.sum(axis=tuple(range(view.ndim - n, view.ndim)), dtype=x.dtype if x.dtype.kind == "f" else np.int64)
    np.testing.assert_array_equal(call.run()[0].data, expected)


@examples(60)
@given(calls("spread_windows", (flow.float64, flow.int64)))
def test_spread_windows_adds_each_element_to_its_window(call):
    (g,), attrs = call.tensors(), dict(call.attrs)
    kernel = attrs.pop("kernel")
    wide = np.broadcast_to(g.data[(..., *[None] * len(kernel))], (*g.shape, *kernel))
    expected = add_windows(flow.tensor(wide), **attrs)
    np.testing.assert_array_equal(call.run()[0].data, expected.data)


def test_arguments_that_do_not_fit_are_refused():
    whole = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
    with pytest.raises(ValueError, match="do not fit in 1 groups"):
        conv(flow.ones(1, 3, 4), flow.ones(2, 2, 1), **whole)
    with pytest.raises(ValueError, match="is larger than the input"):
        conv(flow.ones(1, 2, 4), flow.ones(2, 2, 5), **whole)
    with pytest.raises(ValueError, match=r"stride \(0,\) is not 1 ints above 0"):
        conv(flow.ones(1, 2, 4), flow.ones(2, 2, 1), **{**whole, "stride": (0,)})
    with pytest.raises(TypeError, match="padding 1 is not 1 pairs"):
        conv(flow.ones(1, 2, 4), flow.ones(2, 2, 1), **{**whole, "padding": 1})
    with pytest.raises(IndexError, match="pick: index 3 is out of range for 3 elements"):
        pick(flow.ones(3), flow.tensor([3]))
    with pytest.raises(TypeError, match="expected an integer type"):
        pick(flow.ones(3), flow.tensor([0.0]))
