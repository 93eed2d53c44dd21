"""token_cross_entropy against plain numpy: targets to ignore, every reduction, and its gradient."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

import flow_core as flow
from flow_core.testing import examples
from flow_nn.functional import token_cross_entropy

seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=2).map(tuple)


def case(seed, shape, classes, ignore_index, share=0.3):
    """logits, targets of which a share is ignore_index, and which of them are not."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(*shape, classes)) * 4
    targets = rng.integers(0, classes, shape)
    targets[rng.random(shape) < share] = ignore_index
    return logits, targets, targets != ignore_index


@examples(80)
@given(seeds, shapes, st.integers(1, 7), st.sampled_from((-100, -1, 0)))
def test_each_reduction_is_that_of_the_losses_that_count(seed, shape, classes, ignore_index):
    logits, targets, kept = case(seed, shape, classes, ignore_index)
    log_p = np.take_along_axis(log_softmax(logits, -1), np.where(kept, targets, 0)[..., None], -1)[..., 0]
    losses = np.where(kept, -log_p, 0.0)
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / kept.sum() if kept.any() else math.nan}
    for reduction, value in expected.items():
        found = token_cross_entropy(
            flow.tensor(logits), flow.tensor(targets), ignore_index=ignore_index, reduction=reduction
        )
        assert found.dtype == flow.float64
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-12, atol=1e-12)


@examples(40)
@given(seeds, shapes, st.integers(1, 7))
def test_its_gradient_is_probabilities_less_one_at_the_target(seed, shape, classes):
    logits, targets, kept = case(seed, shape, classes, -100)
    kept.reshape(-1)[0], targets.reshape(-1)[0] = True, 0
    x = flow.tensor(logits, requires_grad=True)
    token_cross_entropy(x, flow.tensor(targets)).backward()
    hot = np.eye(classes)[np.where(kept, targets, 0)]
    expected = (softmax(logits, -1) - hot) * kept[..., None] / kept.sum()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_float32_is_within_its_rounding_of_float64():
    logits, targets, _ = case(0, (40, 10), 65, -100, share=0)
    narrow = token_cross_entropy(flow.tensor(logits, dtype=flow.float32), flow.tensor(targets)).item()
    wide = token_cross_entropy(flow.tensor(logits.astype(np.float32).astype(np.float64)), flow.tensor(targets)).item()
    assert narrow == pytest.approx(wide, rel=1e-6)


def test_logits_too_large_for_exp_are_no_trouble():
    logits = flow.tensor([[1e4, 0.0], [0.0, -1e4], [-1e4, 1e4]])
    losses = token_cross_entropy(logits, flow.tensor([0, 1, 0]), reduction="none")
    np.testing.assert_array_equal(losses.numpy(), np.float32([0, 1e4, 2e4]))


def test_equal_logits_cost_the_log_of_the_number_of_classes():
    assert token_cross_entropy(flow.zeros(7, 10), flow.zeros(7, dtype=flow.int64)).item() == pytest.approx(math.log(10))


def test_unknown_reductions_and_targets_are_refused():
    logits, targets = flow.zeros(2, 3), flow.tensor([0, 2])
    with pytest.raises(ValueError, match="token_cross_entropy: reduction is 'avg', expected"):
        token_cross_entropy(logits, targets, reduction="avg")
    for wrong in ([0, 3], [-1, 0]):
        with pytest.raises((ValueError, IndexError), match=r"targets has (3|-1) in row"):
            token_cross_entropy(logits, flow.tensor(wrong))
    with pytest.raises(ValueError, match="cross_entropy"):
        token_cross_entropy(logits, flow.tensor([0, 1, 2]))
    with pytest.raises((TypeError, ValueError), match="cross_entropy"):
        token_cross_entropy(logits, flow.tensor([0.0, 1.0]))
