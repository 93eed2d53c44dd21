"""Distances of vectors, bilinear forms and losses with margins, against loops in numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import distance

import flow_core as flow
import flow_nn.functional as F
from flow_autograd.testing import check_grads
from flow_core.testing import examples

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)


def drawn(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def relu(x):
    return np.maximum(x, 0)


def reduce(losses, reduction):
    return {"none": losses, "sum": np.sum(losses), "mean": np.mean(losses)}[reduction]


def assert_reductions(function, losses):
    for reduction in ("none", "sum", "mean"):
        np.testing.assert_allclose(function(reduction).numpy(), reduce(losses, reduction), rtol=1e-10, atol=1e-12)


@examples(40)
@given(seeds, sizes, sizes)
def test_distances_are_scipys(seed, n, k):
    a, b = drawn(seed, (n, k), (n, k))
    x, y = flow.tensor(a), flow.tensor(b)
    for p, metric in ((1.0, "cityblock"), (2.0, "euclidean"), (3.0, None), (float("inf"), "chebyshev")):
        own = {"metric": metric} if metric else {"metric": "minkowski", "p": 3}
        each = [distance.cdist(a[i : i + 1] + 1e-6, b[i : i + 1], **own)[0, 0] for i in range(n)]
        np.testing.assert_allclose(F.pairwise_distance(x, y, p).numpy(), each, rtol=1e-10)
        np.testing.assert_allclose(F.pdist(x, p).numpy(), distance.pdist(a, **own), rtol=1e-10)
    cosines = [1 - distance.cosine(a[i], b[i]) for i in range(n)]
    np.testing.assert_allclose(F.cosine_similarity(x, y).numpy(), cosines, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(F.cosine_similarity(x.mT, y.mT, dim=0).numpy(), cosines, rtol=1e-8, atol=1e-12)
    assert F.pairwise_distance(x, y, keepdim=True).shape == (n, 1)


def test_distances_broadcast_and_take_what_floats_are_made_of():
    x = flow.tensor([[3.0, 4.0], [0.0, 1.0]])
    np.testing.assert_allclose(F.pairwise_distance(x, flow.zeros(2), eps=0).numpy(), [5, 1])
    np.testing.assert_allclose(F.cosine_similarity(x, flow.tensor([1.0, 0.0])).numpy(), [0.6, 0], rtol=1e-6)
    assert F.pairwise_distance(flow.tensor([3, 4]), flow.tensor([0, 0])).dtype is flow.float32
    assert F.pairwise_distance(x.to(flow.float16), x.to(flow.float16)).dtype is flow.float16
    assert F.cosine_similarity(x.to(flow.bfloat16), x.to(flow.bfloat16)).dtype is flow.bfloat16
    assert F.pdist(flow.zeros(1, 3)).shape == (0,)


def test_a_vector_of_zeros_is_like_nothing_and_has_a_finite_gradient():
    x = flow.zeros(1, 2, requires_grad=True)
    out = F.cosine_similarity(x, flow.tensor([[3.0, 4.0]]), eps=0.5)
    out.sum().backward()
    assert out.item() == 0
    np.testing.assert_allclose(x.grad.numpy(), [[1.2, 1.6]], rtol=1e-6)


@examples(30)
@given(seeds, st.lists(st.integers(0, 3), max_size=2).map(tuple), sizes, sizes, sizes)
def test_bilinear_is_its_sum(seed, lead, out, in1, in2):
    a, b, w, bias = drawn(seed, (*lead, in1), (*lead, in2), (out, in1, in2), (out,))
    expected = np.einsum("...i,oij,...j->...o", a, w, b)
    tensors = [flow.tensor(t) for t in (a, b, w)]
    np.testing.assert_allclose(F.bilinear(*tensors).numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(F.bilinear(*tensors, flow.tensor(bias)).numpy(), expected + bias, rtol=1e-10, atol=1e-12)


@examples(30)
@given(seeds, st.integers(0, 3), sizes, st.sampled_from((1, 2)), st.booleans())
def test_multi_margin_loss_counts_the_classes_that_come_too_near(seed, batch, classes, p, weigh):
    rng = np.random.default_rng(seed)
    x, t, w = rng.normal(size=(batch, classes)), rng.integers(0, classes, batch), rng.uniform(0.5, 2, classes)
    each = np.zeros(batch)
    for i in range(batch):
        for j in set(range(classes)) - {t[i]}:
            each[i] += (w[t[i]] if weigh else 1) * relu(0.8 - x[i, t[i]] + x[i, j]) ** p / classes
    weight = flow.tensor(w) if weigh else None
    if batch:
        assert_reductions(
            lambda r: F.multi_margin_loss(flow.tensor(x), flow.tensor(t), p, 0.8, weight, reduction=r), each
        )
        one = F.multi_margin_loss(flow.tensor(x[0]), flow.tensor(t[0]), p, 0.8, weight, reduction="none")
        assert one.shape == ()
        assert one.item() == pytest.approx(each[0], abs=1e-12)


@examples(30)
@given(seeds, st.integers(1, 3), sizes)
def test_multilabel_margin_loss_reads_classes_up_to_the_first_minus_1(seed, batch, classes):
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(batch, classes)), rng.integers(-1, classes, (batch, classes))
    each = np.zeros(batch)
    for i in range(batch):
        named = [*t[i], -1]
        named = named[: named.index(-1)]
        for label in named:
            for j in set(range(classes)) - {*named}:
                each[i] += relu(1 - x[i, label] + x[i, j]) / classes
    assert_reductions(lambda r: F.multilabel_margin_loss(flow.tensor(x), flow.tensor(t), reduction=r), each)
    one = F.multilabel_margin_loss(flow.tensor(x[0]), flow.tensor(t[0]), reduction="none")
    assert one.shape == ()
    assert one.item() == pytest.approx(each[0], abs=1e-12)


@examples(30)
@given(seeds, st.integers(1, 3), sizes)
def test_multilabel_soft_margin_loss_is_the_mean_cross_entropy_of_the_classes(seed, batch, classes):
    (x, w), y = drawn(seed, (batch, classes), (classes,)), np.random.default_rng(seed).uniform(size=(batch, classes))
    args = [flow.tensor(t) for t in (x, y, w)]
    each = F.binary_cross_entropy_with_logits(*args, reduction="none").numpy().mean(1)
    assert_reductions(lambda r: F.multilabel_soft_margin_loss(*args, reduction=r), each)


@examples(30)
@given(seeds, st.integers(1, 3), sizes)
def test_cosine_embedding_loss_draws_together_and_apart(seed, batch, size):
    a, b = drawn(seed, (batch, size), (batch, size))
    t = np.random.default_rng(seed).choice([-1, 1], batch)
    cos = (a * b).sum(1) / np.sqrt(((a * a).sum(1) + 1e-12) * ((b * b).sum(1) + 1e-12))
    each = np.where(t == 1, 1 - cos, relu(cos - 0.2))
    args = [flow.tensor(v) for v in (a, b, t)]
    assert_reductions(lambda r: F.cosine_embedding_loss(*args, 0.2, reduction=r), each)
    one = F.cosine_embedding_loss(args[0][0], args[1][0], args[2][0], 0.2)
    assert one.item() == pytest.approx(each[0], abs=1e-12)


@examples(30)
@given(seeds, st.integers(1, 3), sizes, st.booleans())
def test_triplet_losses_compare_two_distances(seed, batch, size, swap):
    a, p, n = drawn(seed, *[(batch, size)] * 3)

    def d(x, y):
        return np.linalg.norm(x - y + 1e-6, axis=-1)

    far = np.minimum(d(a, n), d(p, n)) if swap else d(a, n)
    each = relu(0.7 + d(a, p) - far)
    args = [flow.tensor(v) for v in (a, p, n)]
    assert_reductions(lambda r: F.triplet_margin_loss(*args, 0.7, swap=swap, reduction=r), each)
    own = F.triplet_margin_with_distance_loss
    assert_reductions(lambda r: own(*args, margin=0.7, swap=swap, reduction=r), each)
    taxi = {"distance_function": lambda x, y: flow.sum(flow.abs(x - y), dim=-1), "reduction": "none"}
    expected = relu(1 + np.abs(a - p).sum(-1) - np.abs(a - n).sum(-1))
    np.testing.assert_allclose(own(*args, **taxi).numpy(), expected, rtol=1e-10, atol=1e-12)


A, B, C = drawn(7, (3, 4), (3, 4), (3, 4))
T, LABELS = flow.tensor([0, 3, 1]), flow.tensor([[0, 2, -1, 1], [3, 3, 1, -1], [-1, 0, 0, 0]])
DIFFERENTIABLE = {
    "cosine": (lambda a, b: F.cosine_similarity(a, b), A, B),
    "pairwise": (lambda a, b: F.pairwise_distance(a, b), A, B),
    "pairwise of order 3": (lambda a, b: F.pairwise_distance(a, b, 3.0), A, B),
    "pdist": (lambda a: F.pdist(a), A),
    "bilinear": (lambda a, b, w, c: F.bilinear(a, b, w, c), A, B, np.ones((2, 4, 4)) + np.arange(4), np.ones(2)),
    "multi": (lambda a: F.multi_margin_loss(a, T, p=2), A),
    "multilabel": (lambda a: F.multilabel_margin_loss(a, LABELS), A),
    "multilabel soft": (lambda a, y: F.multilabel_soft_margin_loss(a, y), A, B),
    "embedding": (lambda a, b: F.cosine_embedding_loss(a, b, flow.tensor([1, -1, 1]), -0.9), A, B),
    "triplet": (lambda a, b, c: F.triplet_margin_loss(a, b, c, 3.0, swap=True), A, B, C),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_differences(name):
    function, *arrays = DIFFERENTIABLE[name]
    check_grads(function, *arrays, rtol=1e-5)
