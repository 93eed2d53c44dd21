"""Embeddings are rows of a table, bags their sums, means and maxima."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@examples(30)
@given(st.sampled_from([(), (0,), (4,), (2, 3)]), st.sampled_from(["int32", "int64"]), st.sampled_from([None, 2, -1]))
def test_embedding_takes_rows(shape, dtype, padding_idx):
    table = numbers(5, 3)
    ids = np.random.default_rng(1).integers(0, 5, shape).astype(dtype)
    t = flow.tensor(ids)
    np.testing.assert_array_equal(F.embedding(t, flow.tensor(table), padding_idx).numpy(), table[ids])
    weight = flow.tensor(table, requires_grad=True)
    (g,) = autograd.grad(flow.sum(F.embedding(t, weight, padding_idx)), (weight,))
    expected = np.bincount(ids.ravel(), minlength=5).astype(float)
    if padding_idx is not None:
        expected[padding_idx] = 0
    np.testing.assert_array_equal(g.numpy(), np.repeat(expected[:, None], 3, 1))
    check_grads(lambda w: F.embedding(t, w) ** 2, table)


def test_gradients_by_frequency_are_means():
    weight = flow.tensor([[1.0], [np.inf], [3.0]], requires_grad=True)
    y = F.embedding(flow.tensor([0, 0, 0, 2]), weight, scale_grad_by_freq=True)
    assert y.detach().numpy().ravel().tolist() == [1, 1, 1, 3]
    (g,) = autograd.grad(flow.sum(y * flow.tensor([[1.0], [2.0], [6.0], [5.0]])), (weight,))
    np.testing.assert_allclose(g.numpy().ravel(), [3, 0, 5], rtol=1e-6)


@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
def test_long_rows_that_are_named_are_shortened_in_place(norm):
    table = numbers(4, 3) * np.array([[9], [9], [0.01], [9]])
    weight = flow.tensor(table, requires_grad=True)
    y = F.embedding(flow.tensor([1, 2, 1]), weight, max_norm=1.5, norm_type=norm)
    now = weight.detach().numpy()
    np.testing.assert_array_equal(now[[0, 2, 3]], table[[0, 2, 3]])
    np.testing.assert_allclose(now[1], table[1] * 1.5 / np.linalg.norm(table[1], norm), rtol=1e-6)
    np.testing.assert_array_equal(y.detach().numpy(), now[[1, 2, 1]])


def bags(draw):
    """(ids, offsets, the ids of each bag)."""
    parts = draw(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=4))
    starts = np.cumsum([0, *map(len, parts)])
    return np.array([i for part in parts for i in part], np.int64), starts.astype(np.int64), parts


REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max}


@examples(80)
@given(st.data(), st.sampled_from(["sum", "mean", "max"]), st.booleans(), st.sampled_from([None, 1, -2]))
def test_bags_are_reductions_of_rows(data, mode, last, padding_idx):
    ids, starts, parts = bags(data.draw)
    table = numbers(5, 2)
    weights = numbers(len(ids), seed=1) if mode == "sum" and data.draw(st.booleans()) else None
    at = 0
    expected = np.zeros((len(parts), 2))
    for i, part in enumerate(parts):
        rows = [
            table[j] * (1 if weights is None else weights[at + k])
            for k, j in enumerate(part)
            if padding_idx is None or j != padding_idx % 5
        ]
        at += len(part)
        expected[i] = REDUCE[mode](rows, axis=0) if rows else 0

    def bag(w, *per_sample):
        return F.embedding_bag(
            flow.tensor(ids),
            w,
            flow.tensor(starts if last else starts[:-1]),
            mode=mode,
            include_last_offset=last,
            padding_idx=padding_idx,
            per_sample_weights=per_sample[0] if per_sample else None,
        )

    arrays = (table,) if weights is None else (table, weights)
    np.testing.assert_allclose(bag(*map(flow.tensor, arrays)).numpy(), expected, rtol=1e-12, atol=1e-12)
    check_grads(bag, *arrays)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 0), (0, 3)])
def test_a_row_of_ids_is_a_bag(mode, shape):
    table, ids = numbers(5, 2), np.random.default_rng(2).integers(0, 5, shape)
    expected = REDUCE[mode](table[ids], axis=1) if ids.size else np.zeros((shape[0], 2))
    np.testing.assert_allclose(F.embedding_bag(flow.tensor(ids), flow.tensor(table), mode=mode).numpy(), expected)


def test_the_old_order_of_arguments_and_the_gradient_of_equal_maxima():
    ids, weight = flow.tensor([[0, 1], [1, 1]]), flow.tensor([[1.0], [1.0]], requires_grad=True)
    with pytest.warns(UserWarning, match="input first"):
        y = F.embedding_bag(weight, ids, mode="max")
    (g,) = autograd.grad(flow.sum(y), (weight,))
    assert g.numpy().ravel().tolist() == [1, 1]
    half = F.embedding_bag(ids, weight.detach().to("bfloat16"))
    assert half.dtype is flow.bfloat16


def test_one_hot():
    assert F.one_hot(flow.tensor([2, 0])).numpy().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert F.one_hot(flow.tensor([[1]]), num_classes=2).shape == (1, 1, 2)
    with pytest.raises(ValueError, match="classes"):
        F.one_hot(flow.tensor([2]), 2)


IDS, TABLE, OFFSETS = flow.tensor([0, 1, 2]), flow.ones(3, 2), flow.tensor([0, 2])
REFUSED = [
    (lambda: F.embedding(IDS, flow.ones(3)), ValueError, "2 dims"),
    (lambda: F.embedding(flow.ones(2), TABLE), TypeError, "row numbers"),
    (lambda: F.embedding(flow.tensor([3]), TABLE), (ValueError, IndexError), "3"),
    (lambda: F.embedding(IDS, TABLE, 3), ValueError, "padding_idx 3"),
    (lambda: F.embedding(IDS, TABLE, sparse=True), ValueError, "sparse"),
    (lambda: F.embedding_bag(IDS, TABLE), TypeError, "offsets"),
    (lambda: F.embedding_bag(IDS, TABLE, flow.tensor([1])), ValueError, "from 0"),
    (lambda: F.embedding_bag(IDS, TABLE, flow.tensor([0, 4])), ValueError, "to 3"),
    (lambda: F.embedding_bag(IDS, TABLE, flow.tensor([0, 2, 1])), ValueError, "rise"),
    (lambda: F.embedding_bag(flow.tensor([[0]]), TABLE, OFFSETS), ValueError, "each row"),
    (lambda: F.embedding_bag(IDS, TABLE, OFFSETS, mode="prod"), ValueError, "mode"),
    (lambda: F.embedding_bag(IDS, TABLE, OFFSETS, per_sample_weights=flow.ones(3)), ValueError, "sum"),
    (lambda: F.embedding_bag(IDS, TABLE, OFFSETS, mode="sum", per_sample_weights=flow.ones(2)), ValueError, "shape"),
    (lambda: F.embedding_bag(IDS, TABLE, OFFSETS, mode="max", scale_grad_by_freq=True), ValueError, "scale_grad"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
