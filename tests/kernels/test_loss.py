import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flow_kernels as fk
from flow_kernels import reference
from flow_kernels.testing import EPS, EXP, SUM, TINY, assert_within, normal, poisoned, rows, scales, seeds, sizes


def targets_for(seed, num_rows, classes, ignore_index=-100):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, num_rows)
    targets[rng.random(num_rows) < 0.2] = ignore_index
    return targets


def sum_error(logits):
    """The relative error of sum(exp(x - peak)): of each exp, of the rounding of x - peak, and of the summation."""
    x = logits.astype(np.float64)
    distance = x.max(-1, keepdims=True, initial=-np.inf) - x
    p = np.exp(-distance)
    return EXP + SUM + EPS * (p * distance).sum(-1) / p.sum(-1)


@given(seeds, rows, sizes, scales)
@example(0, 3, 1, 1e4)
def test_cross_entropy_equals_the_reference(seed, num_rows, classes, scale):
    logits, targets = normal(seed, (num_rows, classes), scale), targets_for(seed, num_rows, classes)
    loss, lse = fk.cross_entropy(logits, targets, out=(poisoned(num_rows), poisoned(num_rows)))
    expected_loss, expected_lse = reference.cross_entropy(logits, targets)
    assert_within(loss, expected_loss, sum_error(logits) + 2 * EPS * np.abs(expected_loss))
    assert_within(lse, expected_lse, sum_error(logits) + 2 * EPS * np.abs(expected_lse))


@given(seeds, rows, sizes, scales)
def test_cross_entropy_backward_equals_the_reference(seed, num_rows, classes, scale):
    logits, targets = normal(seed, (num_rows, classes), scale), targets_for(seed, num_rows, classes)
    dloss = normal(seed + 1, num_rows)
    _, lse = fk.cross_entropy(logits, targets)
    dlogits = fk.cross_entropy_backward(dloss, logits, targets, lse, out=poisoned(logits.shape))
    expected = reference.cross_entropy_backward(dloss, logits, targets, lse)
    exponent = logits.astype(np.float64) - lse[:, None]
    onehot = np.arange(classes) == targets[:, None]
    relative = EXP + EPS * np.abs(exponent) + 3 * EPS
    assert_within(
        dlogits, expected, np.abs(dloss)[:, None] * (np.exp(exponent) * relative + 3 * EPS * onehot + TINY) + TINY
    )


def test_exp_is_right_to_its_stated_bound():
    x = np.linspace(-87.3, 88.7, 1_000_001).astype(np.float32)
    logits = np.stack([np.zeros_like(x), x], 1).reshape(1, -1)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    # With lse = 0 and dloss = 1, the gradient of a class that is not the target is its exp.
    actual = fk.cross_entropy_backward(one, logits, np.zeros(1, np.int64), zero)[0, 1::2]
    exact = np.exp(x.astype(np.float64))
    assert_within(actual, exact.astype(np.float32), (EXP + EPS) * exact)


@pytest.mark.parametrize(
    ("x", "exp"), [(-np.inf, 0), (-88, 0), (-1e4, 0), (0, 1), (89, np.inf), (np.inf, np.inf), (np.nan, np.nan)]
)
def test_exp_has_the_right_limits(x, exp):
    logits = np.full((1, 40), x, np.float32)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    actual = fk.cross_entropy_backward(one, logits, np.zeros(1, np.int64), zero)[0, 1:]
    np.testing.assert_array_equal(actual, np.float32(exp))


def test_classes_of_minus_infinity_have_no_probability():
    logits = normal(0, (2, 50))
    logits[:, 10:] = -np.inf
    targets = np.array([3, 20])
    loss, lse = fk.cross_entropy(logits, targets)
    assert_within(lse, fk.cross_entropy(logits[:, :10].copy(), np.array([3, 4]))[1], 4 * EPS * np.abs(lse))
    assert np.isfinite(loss[0])
    assert loss[1] == np.inf
    dlogits = fk.cross_entropy_backward(np.ones(2, np.float32), logits, targets, lse)
    assert not dlogits[0, 10:].any()


def test_a_row_of_infinities_has_the_lse_of_mathematics():
    logits = np.array(
        [[-np.inf] * 20, [np.inf] + [0] * 19, [np.nan] + [-np.inf] * 19, [np.nan] + [np.inf] * 19], np.float32
    )
    targets = np.full(4, -100)
    _, lse = fk.cross_entropy(logits, targets)
    np.testing.assert_array_equal(lse, np.float32([-np.inf, np.inf, np.nan, np.nan]))
    np.testing.assert_array_equal(lse, reference.cross_entropy(logits, targets)[1])


def test_a_small_loss_at_large_logits_is_exact():
    logits = np.array([[1e4, 1e4 - 20, 0]], np.float32)
    loss, _ = fk.cross_entropy(logits, np.array([1]))
    assert loss[0] == 20


@given(st.sampled_from((-1, -101, 7, 8, 2**40, -(2**63), 2**63 - 1)), st.integers(0, 5))
def test_a_target_out_of_range_is_named_before_anything_is_written(value, row):
    logits, targets = normal(0, (6, 7)), np.zeros(6, np.int64)
    targets[row] = value
    loss, lse, dlogits = poisoned(6), poisoned(6), poisoned((6, 7))
    match = rf"targets has {value} in row {row}, expected 0 to 6 for 7 classes, or ignore_index = -100"
    with pytest.raises(ValueError, match=match):
        fk.cross_entropy(logits, targets, out=(loss, lse))
    with pytest.raises(ValueError, match=match):
        fk.cross_entropy_backward(loss, logits, targets, lse, out=dlogits)
    assert np.isnan(loss).all()
    assert np.isnan(lse).all()
    assert np.isnan(dlogits).all()


def test_ignore_index_may_be_a_class():
    logits, targets = normal(0, (3, 4)), np.array([0, 2, 0])
    loss, _ = fk.cross_entropy(logits, targets, ignore_index=0)
    assert loss[0] == loss[2] == 0
    assert loss[1] > 0


def test_cross_entropy_takes_any_leading_dims():
    logits, targets = normal(0, (2, 3, 5)), targets_for(0, 6, 5).reshape(2, 3)
    loss, lse = fk.cross_entropy(logits, targets)
    flat_loss, flat_lse = fk.cross_entropy(logits.reshape(6, 5), targets.reshape(6))
    np.testing.assert_array_equal(loss, flat_loss.reshape(2, 3))
    np.testing.assert_array_equal(lse, flat_lse.reshape(2, 3))


def test_cross_entropy_backward_works_in_place():
    logits, targets = normal(0, (5, 40)), targets_for(1, 5, 40)
    _, lse = fk.cross_entropy(logits, targets)
    expected = fk.cross_entropy_backward(lse, logits, targets, lse)
    assert fk.cross_entropy_backward(lse, logits, targets, lse, out=logits) is logits
    np.testing.assert_array_equal(logits, expected)


def test_bad_arguments_are_refused_with_the_reason():
    logits, targets = normal(0, (4, 6)), np.zeros(4, np.int64)
    for error, match, call in [
        (TypeError, "logits is a NoneType", lambda: fk.cross_entropy(None, targets)),
        (
            TypeError,
            "targets has dtype int32, expected int64",
            lambda: fk.cross_entropy(logits, targets.astype(np.int32)),
        ),
        (
            ValueError,
            r"targets has shape \(3,\), expected \(4,\): the leading dims of logits",
            lambda: fk.cross_entropy(logits, targets[:3]),
        ),
        (ValueError, r"logits has shape \(4, 0\)", lambda: fk.cross_entropy(logits[:, :0].copy(), targets)),
        (
            ValueError,
            r"dlogits has shape \(4,\)",
            lambda: fk.cross_entropy_backward(logits[:, 0].copy(), logits, targets, logits[0, :4], out=poisoned(4)),
        ),
    ]:
        with pytest.raises(error, match=match):
            call()
