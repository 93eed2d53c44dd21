"""ctc_loss is the sum over all paths that spell the targets, and its gradient what they say of each frame."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

import flow_core as flow
import flow_nn.functional as F
from flow_autograd.testing import check_grads
from flow_core.testing import examples

seeds = st.integers(0, 2**32 - 1)


def spelt(path, blank):
    """What a path spells: without repeats, then without blanks."""
    return [c for c, _ in itertools.groupby(path) if c != blank]


def by_all_paths(log_p, target, blank):
    chances = [
        math.exp(sum(log_p[t, c] for t, c in enumerate(path)))
        for path in itertools.product(range(log_p.shape[1]), repeat=len(log_p))
        if spelt(path, blank) == list(target)
    ]
    return -math.log(sum(chances)) if chances else math.inf


def case(seed, batch=3, frames=4, classes=3, longest=3):
    rng = np.random.default_rng(seed)
    log_p = log_softmax(rng.normal(size=(frames, batch, classes)), -1)
    blank = int(rng.integers(0, classes))
    labels = rng.choice([c for c in range(classes) if c != blank], (batch, longest))
    return log_p, labels, rng.integers(0, frames + 1, batch), rng.integers(0, longest + 1, batch), blank


@examples(40)
@given(seeds, st.sampled_from(["none", "sum", "mean"]), st.booleans())
def test_it_is_the_sum_over_all_paths(seed, reduction, zero_infinity):
    log_p, labels, frames, sizes, blank = case(seed)
    each = [
        by_all_paths(log_p[:n, i], labels[i, :k], blank) for i, (n, k) in enumerate(zip(frames, sizes, strict=True))
    ]
    each = np.array([0.0 if zero_infinity and math.isinf(loss) else loss for loss in each])
    expected = {"none": each, "sum": each.sum(), "mean": (each / np.maximum(sizes, 1)).mean()}[reduction]
    joined = np.concatenate([row[:k] for row, k in zip(labels, sizes, strict=True)])
    for targets in (labels, joined):
        for lengths in ((frames.tolist(), tuple(sizes.tolist())), (flow.tensor(frames), flow.tensor(sizes))):
            found = F.ctc_loss(flow.tensor(log_p), flow.tensor(targets), *lengths, blank, reduction, zero_infinity)
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-10)


def test_its_gradient_is_the_probabilities_less_what_the_paths_say():
    log_p, labels, _, _, blank = case(1)
    frames, sizes = [4, 3, 4], [2, 1, 3]
    x = flow.tensor(log_p, requires_grad=True)
    F.ctc_loss(x, flow.tensor(labels), frames, sizes, blank, "sum", True).backward()
    expected = np.zeros(log_p.shape)
    for i, (n, k) in enumerate(zip(frames, sizes, strict=True)):
        target, seen, total = list(labels[i, :k]), np.zeros((n, 3)), 0.0
        for path in itertools.product(range(3), repeat=n):
            if spelt(path, blank) == target:
                chance = math.exp(sum(log_p[t, i, c] for t, c in enumerate(path)))
                total += chance
                seen[range(n), path] += chance
        if total:
            expected[:n, i] = np.exp(log_p[:n, i]) - seen / total
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)


def test_through_log_softmax_its_gradients_are_differences():
    log_p, labels, _, _, blank = case(2)
    check_grads(
        lambda z: F.ctc_loss(flow.log_softmax(z, dim=-1), flow.tensor(labels), [4, 4, 3], [2, 1, 0], blank), log_p
    )


def test_one_sequence_comes_without_a_batch():
    log_p, labels, _, _, blank = case(4)
    many = F.ctc_loss(flow.tensor(log_p[:, :1]), flow.tensor(labels[:1]), [4], [1], blank)
    one = F.ctc_loss(flow.tensor(log_p[:, 0]), flow.tensor(labels[0]), flow.tensor(4), flow.tensor(1), blank)
    assert one.shape == ()
    assert one.item() == many.item()
    assert F.ctc_loss(flow.tensor(log_p[:, 0]), flow.tensor(labels[0, :1]), (4,), (1,), blank, "none").shape == ()


def test_certain_frames_and_impossible_classes_are_no_trouble():
    log_p = flow.tensor([[[0.0, -math.inf]], [[-math.inf, 0.0]]], requires_grad=True)
    loss = F.ctc_loss(log_p, flow.tensor([[1]]), [2], [1])
    loss.backward()
    assert loss.item() == 0
    np.testing.assert_array_equal(log_p.grad.numpy(), np.zeros((2, 1, 2)))
    assert F.ctc_loss(log_p, flow.tensor([[1, 1]]), [2], [2]).item() == math.inf


def test_float32_is_near_float64_over_many_frames():
    log_p, labels, _, _, blank = case(5, batch=2, frames=80, classes=5, longest=20)
    lengths = [80, 70], [20, 15]
    wide = F.ctc_loss(flow.tensor(log_p), flow.tensor(labels), *lengths, blank)
    narrow = F.ctc_loss(flow.tensor(log_p, dtype=flow.float32), flow.tensor(labels), *lengths, blank)
    assert narrow.item() == pytest.approx(wide.item(), rel=1e-5)


P, T = flow.zeros(4, 2, 3), flow.tensor([[1, 2], [2, 1]])
REFUSED = [
    (lambda: F.ctc_loss(P, T, [4, 4], [2, 2], blank=3), ValueError, "blank is 3"),
    (lambda: F.ctc_loss(P, T, [4, 5], [2, 2]), ValueError, "4 at most"),
    (lambda: F.ctc_loss(P, T, [4], [2, 2]), ValueError, "input_lengths has shape"),
    (lambda: F.ctc_loss(P, T, [4, 4], [2, 3]), ValueError, "targets"),
    (lambda: F.ctc_loss(P, T, [4, 4], [-1, 2]), ValueError, "0 or more"),
    (lambda: F.ctc_loss(P, T + 2, [4, 4], [2, 2]), IndexError, "not a class"),
    (lambda: F.ctc_loss(P, T.to(flow.float32), [4, 4], [2, 2]), TypeError, "expected integers"),
    (lambda: F.ctc_loss(P, T, [4.0, 4.0], [2, 2]), TypeError, "expected integers"),
    (lambda: F.ctc_loss(P, flow.tensor([1, 2, 1]), [4, 4], [2, 2]), ValueError, "add up to, 4"),
    (lambda: F.ctc_loss(T, T, [4, 4], [2, 2]), TypeError, "float"),
    (lambda: F.ctc_loss(flow.zeros(0, 2, 3), T, [0, 0], [2, 2]), ValueError, "not empty"),
    (lambda: F.ctc_loss(P, T, [4, 4], [2, 2], reduction="avg"), ValueError, "'avg'"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(case):
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()
