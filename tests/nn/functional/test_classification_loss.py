"""cross_entropy and nll_loss with classes in dim 1, against plain numpy: weights, targets to ignore, probabilities, label smoothing."""

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
positions = st.lists(st.integers(0, 3), max_size=3).map(tuple)
pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:Mean of empty:RuntimeWarning")


def case(seed, shape, classes, ignore_index):
    """(scores with classes in dim 1 or alone, targets of which some are ignored, weights of classes)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(*shape[:1], classes, *shape[1:]))
    targets = np.asarray(rng.integers(0, classes, shape))
    targets[rng.random(shape) < 0.3] = ignore_index
    return x, targets, rng.uniform(0.5, 2, classes)


def losses_of(log_p, targets, weights, ignore_index, smoothing=0.0):
    """(the losses, the weights of the targets that count), by going through the positions."""
    last = np.moveaxis(log_p, 1, -1) if log_p.ndim > 1 else log_p
    losses, counts = np.zeros(targets.shape), np.zeros(targets.shape)
    for at in np.ndindex(targets.shape):
        t = targets[at]
        if t != ignore_index:
            counts[at] = weights[t]
            spread = -(weights * last[at]).sum() / len(weights)
            losses[at] = (1 - smoothing) * weights[t] * -last[at][t] + smoothing * spread
    return losses, counts


def reductions(losses, counts):
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counts.sum()}


@examples(60)
@given(seeds, positions, st.integers(1, 4), st.sampled_from((-100, -1, 0)), st.booleans())
def test_nll_loss_is_the_weighed_log_probability_of_the_targets(seed, shape, classes, ignore_index, weigh):
    x, targets, weights = case(seed, shape, classes, ignore_index)
    log_p = log_softmax(x, min(x.ndim - 1, 1))
    weights = weights if weigh else np.ones(classes)
    for reduction, expected in reductions(*losses_of(log_p, targets, weights, ignore_index)).items():
        found = F.nll_loss(
            flow.tensor(log_p),
            flow.tensor(targets),
            flow.tensor(weights) if weigh else None,
            ignore_index=ignore_index,
            reduction=reduction,
        )
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@examples(60)
@given(seeds, positions, st.integers(1, 4), st.sampled_from((-100, 0)), st.booleans(), st.sampled_from((0.0, 0.3, 1.0)))
def test_cross_entropy_is_that_of_smoothed_targets(seed, shape, classes, ignore_index, weigh, smoothing):
    x, targets, weights = case(seed, shape, classes, ignore_index)
    log_p = log_softmax(x, min(x.ndim - 1, 1))
    weights = weights if weigh else np.ones(classes)
    if x.shape == targets.shape:
        return
    for reduction, expected in reductions(*losses_of(log_p, targets, weights, ignore_index, smoothing)).items():
        found = F.cross_entropy(
            flow.tensor(x),
            flow.tensor(targets),
            flow.tensor(weights) if weigh else None,
            ignore_index=ignore_index,
            reduction=reduction,
            label_smoothing=smoothing,
        )
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@examples(40)
@given(seeds, positions, st.integers(1, 4), st.sampled_from((0.0, 0.3)))
def test_targets_may_be_probabilities_of_all_classes(seed, shape, classes, smoothing):
    x, _, weights = case(seed, shape, classes, -100)
    p = np.random.default_rng(seed).dirichlet(np.ones(classes), shape)
    dim = min(x.ndim - 1, 1)
    p = np.moveaxis(p, -1, dim)
    smooth = p * (1 - smoothing) + smoothing / classes
    along = weights.reshape(classes, *[1] * (x.ndim - dim - 1))
    losses = -(along * smooth * log_softmax(x, dim)).sum(dim)
    for reduction, expected in {"none": losses, "sum": losses.sum(), "mean": losses.mean()}.items():
        found = F.cross_entropy(
            flow.tensor(x), flow.tensor(p), flow.tensor(weights), reduction=reduction, label_smoothing=smoothing
        )
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_one_hot_probabilities_are_classes():
    x, targets, _ = case(0, (5, 2), 3, -100)
    targets = np.maximum(targets, 0)
    hot = flow.tensor(np.moveaxis(np.eye(3)[targets], -1, 1))
    for smoothing in (0.0, 0.2):
        a, b = (
            F.cross_entropy(flow.tensor(x), t, label_smoothing=smoothing).item() for t in (flow.tensor(targets), hot)
        )
        assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (2, 2, 2)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradients_are_differences(shape, smoothing):
    x, targets, weights = case(1, shape, 4, -100)
    target, weight = flow.tensor(targets), flow.tensor(weights)
    for reduction in ("none", "sum"):
        check_grads(
            lambda x, r=reduction: F.cross_entropy(x, target, weight, reduction=r, label_smoothing=smoothing), x
        )
        check_grads(lambda x, r=reduction: F.nll_loss(x, target, weight, reduction=r), x)
    p = np.random.default_rng(2).uniform(size=x.shape)
    check_grads(lambda x, p: F.cross_entropy(x, p, weight, label_smoothing=smoothing), x, p)


def test_the_loss_with_classes_last_is_the_one_with_classes_in_dim_1():
    x, targets, _ = case(3, (4, 5), 6, -100)
    last = F.token_cross_entropy(flow.tensor(np.moveaxis(x, 1, -1).copy()), flow.tensor(targets))
    assert F.cross_entropy(flow.tensor(x), flow.tensor(targets)).item() == pytest.approx(last.item(), rel=1e-12)


def test_a_mean_over_nothing_is_nan_and_a_sum_0():
    x, none = flow.zeros(2, 3), flow.tensor([-100, -100])
    assert math.isnan(F.cross_entropy(x, none).item())
    assert F.cross_entropy(x, none, reduction="sum").item() == 0
    assert math.isnan(F.nll_loss(flow.zeros(0, 3), flow.zeros(0, dtype=flow.int64)).item())
    assert F.nll_loss(flow.zeros(0, 3, 2), flow.zeros(0, 2, dtype=flow.int64), reduction="none").shape == (0, 2)


def test_dtypes_are_kept_and_targets_may_be_bytes():
    targets = flow.tensor([0, 2], dtype=flow.uint8)
    for dtype in (flow.float16, flow.bfloat16, flow.float64):
        x = flow.tensor([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]], dtype=dtype)
        wide = F.cross_entropy(x.to(flow.float64), targets.to(flow.int64)).item()
        found = F.cross_entropy(x, targets)
        assert found.dtype is dtype
        assert found.item() == pytest.approx(wide, rel=2**-8 if dtype is not flow.float64 else 1e-12)


X, T = flow.zeros(2, 3), flow.tensor([0, 2])
REFUSED = [
    (lambda f: f(X, flow.tensor([0, 3])), (IndexError, ValueError), "3"),
    (lambda f: f(flow.zeros(2, 3, 1), flow.tensor([[0], [-1]])), (IndexError, ValueError), "-1"),
    (lambda f: f(X, flow.tensor([0, 1, 2])), ValueError, r"the shape \(2,\)"),
    (lambda f: f(X, flow.tensor([0, 1], dtype=flow.int32)), TypeError, "int64 or uint8"),
    (lambda f: f(X, flow.tensor([0.0, 1.0])), TypeError, "int64 or uint8"),
    (lambda f: f(flow.tensor([[1, 2]]), flow.tensor([0])), TypeError, "float"),
    (lambda f: f(X, T, flow.ones(2)), ValueError, "one element for each class"),
    (lambda f: f(X, T, flow.ones(3, dtype=flow.float64)), TypeError, "dtype of input"),
    (lambda f: f(X, T, reduction="avg"), ValueError, "'avg' is not a valid value for reduction"),
    (lambda f: f(flow.tensor(1.0), flow.tensor(0)), ValueError, "one dim at least"),
    (lambda f: f([[1.0]], T), TypeError, "input is or holds a list"),
]


@pytest.mark.parametrize("function", [F.cross_entropy, F.nll_loss])
@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(function, case):
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call(function)


@pytest.mark.parametrize("outs", [(4,), (4, 2)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_cross_entropy_is_that_of_the_logits(outs, bias):
    rng = np.random.default_rng(0)
    x, w, b = (flow.tensor(rng.normal(size=shape)) for shape in ((3, 5), (*outs, 5), outs))
    targets = flow.tensor(rng.integers(0, 4, (3, *outs[1:])))
    logits = flow.tensor(np.einsum("nf,...f->n...", x.numpy(), w.numpy()) + (b.numpy() if bias else 0))
    found = F.linear_cross_entropy(x, w, targets, linear_bias=b if bias else None, label_smoothing=0.1)
    assert found.item() == pytest.approx(F.cross_entropy(logits, targets, label_smoothing=0.1).item(), rel=1e-12)


def test_linear_cross_entropy_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="features"):
        F.linear_cross_entropy(X, flow.zeros(4, 2), T)
    with pytest.raises(ValueError, match="linear_bias"):
        F.linear_cross_entropy(X, flow.zeros(4, 3), T, linear_bias=flow.zeros(3))
    with pytest.raises(TypeError, match="options"):
        F.linear_cross_entropy(X, flow.zeros(4, 3), T, options={})


def test_what_does_not_go_with_probabilities_is_refused():
    with pytest.raises(ValueError, match="ignore_index is 1"):
        F.cross_entropy(X, X, ignore_index=1)
    with pytest.raises(TypeError, match="float"):
        F.cross_entropy(X, flow.zeros(2, 3, dtype=flow.int64))
    with pytest.raises(ValueError, match=r"label_smoothing is 1\.5"):
        F.cross_entropy(X, T, label_smoothing=1.5)
