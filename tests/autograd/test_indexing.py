"""Gradients of what takes and places elements by index agree with finite differences, to second order."""

import numpy as np
import pytest

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads

RNG = np.random.default_rng(0)
X, SRC = RNG.uniform(0.5, 2, (3, 4)), RNG.uniform(0.5, 2, (3, 4))
ZEROS = np.array(SRC)
ZEROS[0, 0] = ZEROS[1, 1] = ZEROS[2, 1] = 0
ALONG = flow.tensor([[2, 0, 1, 2], [1, 1, 2, 2], [2, 0, 1, 0]])  # the same place several times
APART = flow.tensor([[2, 0, 1, 2], [1, 1, 2, 0], [0, 2, 0, 1]])  # each place once
IDS = flow.tensor([2, 0])
MASK = flow.tensor([[True, False, True, True], [False] * 4, [True, True, False, True]])


def product(function):
    """The result times itself, so that second derivatives are not zero."""
    return lambda *args: function(*args) * function(*args)


TAKEN = {
    "row list": lambda x: x[[2, 0, 2]],
    "row tensor": lambda x: x[flow.tensor([2, 0, -1])],
    "two lists": lambda x: x[[0, 2, 2], [1, 3, 3]],
    "list and slice": lambda x: x[1:, [0, 0, 2]],
    "apart": lambda x: x[[[0], [1]], None, [1, 3]],
    "mask": lambda x: x[MASK],
    "gather": lambda x: flow.gather(x, 0, ALONG),
    "smaller gather": lambda x: flow.gather(x, 1, ALONG[:2, :2]),
    "take_along_dim": lambda x: flow.take_along_dim(x, ALONG[:1], 0),
    "index_select": lambda x: flow.index_select(x, 1, flow.tensor([3, 3, 0])),
    "index_fill": lambda x: flow.index_fill(x, 1, flow.tensor([0, 0]), 3.0),
    "take": lambda x: flow.take(x, flow.tensor([[0, 11], [11, -1]])),
    "masked_select": lambda x: flow.masked_select(x, MASK),
    "masked_fill": lambda x: flow.masked_fill(x, MASK, 2.0),
    "_unsafe_masked_index": lambda x: flow._unsafe_masked_index(x, IDS > 1, [IDS, IDS + 9], 2.0),
    "segment sum": lambda x: flow._segment_reduce(x, "sum", lengths=flow.tensor([1, 0, 2])),
    "segment mean": lambda x: flow._segment_reduce(x, "mean", lengths=flow.tensor([1, 0, 2]), initial=1),
    "segment prod": lambda x: flow._segment_reduce(x, "prod", lengths=flow.tensor([1, 2]), initial=2),
    "segment max": lambda x: flow._segment_reduce(x, "max", offsets=flow.tensor([[0, 2, 4]] * 3), axis=1),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_takes_elements(name):
    check_grads(product(TAKEN[name]), X)


PLACED = {
    "scatter": lambda x, s: flow.scatter(x, 0, APART, s),
    "scatter add": lambda x, s: flow.scatter(x, 0, ALONG[:2], s, reduce="add"),
    "scatter multiply": lambda x, s: flow.scatter(x, 0, ALONG, s, reduce="multiply"),
    "scatter_add": lambda x, s: flow.scatter_add(x, 1, ALONG, s),
    "index_add": lambda x, s: flow.index_add(x, 0, flow.tensor([1, 1, 0]), s, alpha=2),
    "index_copy": lambda x, s: flow.index_copy(x, 0, IDS, s[:2]),
    "index_put": lambda x, s: flow.index_put(x, (IDS, flow.tensor([1, 1])), s[0, :2]),
    "index_put broadcast": lambda x, s: flow.index_put(x, (IDS,), s[0]),
    "index_put accumulate": lambda x, s: flow.index_put(x, (flow.tensor([1, 1]),), s[:2], accumulate=True),
    "put": lambda x, s: flow.put(x, flow.tensor([3, -1]), s[0, :2]),
    "put accumulate": lambda x, s: flow.put(x, flow.tensor([3, 3]), s[0, :2], accumulate=True),
    "masked_scatter": lambda x, s: flow.masked_scatter(x, MASK, s),
    "masked_fill": lambda x, s: flow.masked_fill(x, MASK, s[0, 0]),
    "index_fill": lambda x, s: flow.index_fill(x, 1, flow.tensor([1, 1]), s[0, 0]),
    "where": lambda x, s: flow.where(MASK, x, s),
    "select_scatter": lambda x, s: flow.select_scatter(x, s[:, 0], 1, 2),
    "slice_scatter": lambda x, s: flow.slice_scatter(x, s[:, :2], 1, 1, 4, 2),
    "_unsafe_put": lambda x, s: flow._unsafe_masked_index_put_accumulate(x, IDS > 0, [IDS, IDS], s[0, :2]),
}


@pytest.mark.parametrize("name", PLACED)
def test_what_places_elements(name):
    check_grads(product(PLACED[name]), X, SRC)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_what_combines_elements(reduce, include_self):
    check_grads(product(lambda x, s: flow.scatter_reduce(x, 0, ALONG, s, reduce, include_self=include_self)), X, SRC)
    if reduce != "sum":
        ids = flow.tensor([1, 2, 1])
        check_grads(product(lambda x, s: flow.index_reduce(x, 0, ids, s, reduce, include_self=include_self)), X, SRC)


def test_products_beside_zeros():
    at = flow.tensor([[0, 0, 0, 0]] * 3)  # columns with no zero, one, and two
    check_grads(lambda x, s: flow.scatter_reduce(x, 0, at, s, "prod"), X, ZEROS)


def test_ties_share_the_gradient():
    x, src = (flow.tensor(a, requires_grad=True) for a in ([2.0, 0.0], [2.0, 2.0, 1.0]))
    flow.scatter_reduce(x, 0, flow.tensor([0, 0, 1]), src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.data, [1 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(src.grad.data, [1 / 3, 1 / 3, 1], rtol=1e-6)


def test_what_is_recorded_is_not_overwritten():
    x = flow.ones(3).requires_grad_()
    with pytest.raises(ValueError, match="__setitem__: it would overwrite"):
        x[0] = 2.0
    with pytest.raises(ValueError, match="__setitem__: it would overwrite"):
        flow.zeros(3)[[0]] = x[:1]
    with pytest.raises(ValueError, match="index_fill_: it would overwrite"):
        x.index_fill_(0, flow.tensor([0]), 1.0)
    with autograd.no_grad():
        x[0] = 2.0
        x[[1]] = 3.0
    assert x.tolist() == [2, 3, 1]


def test_a_saved_value_that_is_assigned_to_is_noticed():
    x = flow.ones(3).requires_grad_()
    y = flow.ones(3)
    out = (x * y).sum()
    y[[0]] = 5.0
    with pytest.raises(ValueError, match="overwritten in place"):
        out.backward()
