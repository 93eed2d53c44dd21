import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flow_kernels as fk
from flow_kernels import reference
from flow_kernels.testing import (
    EPS,
    EXP,
    SUM,
    TINY,
    assert_same_bits,
    assert_within,
    normal,
    poisoned,
    rows,
    scales,
    seeds,
    sizes,
)

causal_shapes = st.tuples(st.sampled_from((0, 1, 2)), st.sampled_from((1, 3, 16, 17)), st.sampled_from((1, 3, 16, 33)))
cases = st.one_of(st.tuples(st.just(False), st.tuples(rows, sizes)), st.tuples(st.just(True), causal_shapes))


def bound(x, y):
    """The rounding of x - peak is an absolute error of the exponent; so for the terms of the sum, by their weight."""
    x = x.astype(np.float64)
    distance = np.where(y > 0, np.max(x, -1, keepdims=True, initial=-np.inf, where=y > 0) - x, 0)
    of_sum = EXP + SUM + EPS * (y * distance).sum(-1, keepdims=True)
    return y * (EXP + EPS * distance + of_sum + 4 * EPS) + 2 * TINY


@given(seeds, cases, scales)
@example(0, (True, (1, 5, 3)), 1.0)
@example(0, (False, (2, 0)), 1.0)
def test_softmax_equals_the_reference(seed, case, scale):
    causal, shape = case
    x = normal(seed, shape, scale)
    y = fk.softmax(x, causal, out=poisoned(shape))
    expected = reference.softmax(x, causal)
    assert_within(y, expected, bound(x, expected))


@given(seeds, cases, scales)
def test_softmax_backward_equals_the_reference(seed, case, scale):
    causal, shape = case
    y, dy = reference.softmax(normal(seed, shape, scale), causal), normal(seed + 1, shape, scale)
    dx = fk.softmax_backward(dy, y, causal, out=poisoned(shape))
    magnitude = np.abs(dy * y.astype(np.float64)).sum(-1, keepdims=True)
    assert_within(
        dx, reference.softmax_backward(dy, y, causal), y * (SUM * magnitude + 3 * EPS * (np.abs(dy) + magnitude)) + TINY
    )


@given(seeds, sizes)
def test_the_probabilities_of_a_row_add_up_to_one(seed, cols):
    total = fk.softmax(normal(seed, (3, cols), 10)).sum(-1, dtype=np.float64)
    assert (np.abs(total - 1) <= SUM + 4 * EPS).all()


def test_a_causal_row_sees_what_the_last_rows_of_a_longer_block_see():
    x = normal(0, (8, 8))
    x[np.triu_indices(8, 1)] = np.nan  # what is not seen is not read
    whole = fk.softmax(x, causal=True)
    assert not np.triu(whole, 1).any()
    assert_same_bits(fk.softmax(x[5:].copy(), causal=True), whole[5:])
    np.testing.assert_array_equal(whole[0], np.eye(8)[0])


def test_a_causal_gradient_does_not_read_what_is_not_seen():
    y, dy = fk.softmax(normal(0, (8, 8)), causal=True), normal(1, (8, 8))
    expected = fk.softmax_backward(dy, y, causal=True)
    dy[np.triu_indices(8, 1)] = np.nan
    assert_same_bits(fk.softmax_backward(dy, y, causal=True), expected)


def test_a_causal_row_that_sees_nothing_is_zero():
    y = fk.softmax(normal(0, (2, 5, 3)), causal=True, out=poisoned((2, 5, 3)))
    assert not y[:, :2].any()
    np.testing.assert_array_equal(y[:, 2], np.float32([[1, 0, 0]] * 2))


def test_minus_infinity_masks_and_a_row_of_it_is_nan():
    x = normal(0, (4, 40))
    x[0, 5:] = -np.inf
    x[1] = -np.inf
    x[2, 3] = np.inf
    x[3, 7] = np.nan
    y = fk.softmax(x)
    assert not y[0, 5:].any()
    assert_same_bits(y[0, :5], fk.softmax(x[0, :5].copy()))
    assert np.isnan(y[1]).all()
    assert np.isnan(y[2, 3])
    assert np.isnan(y[3]).all()


@pytest.mark.parametrize("causal", [False, True])
def test_softmax_works_in_place(causal):
    x, dy = normal(0, (3, 6, 50)), normal(1, (3, 6, 50))
    y = fk.softmax(x, causal)
    dx = fk.softmax_backward(dy, y, causal)
    assert_same_bits(fk.softmax(x, causal, out=x), y)
    assert_same_bits(fk.softmax_backward(dy.copy(), y, causal, out=y), dx)


def test_bad_arguments_are_refused_with_the_reason():
    x = normal(0, (4, 6))
    for error, match, call in [
        (ValueError, r"x has shape \(6,\), expected at least 2 dims", lambda: fk.softmax(x[0], causal=True)),
        (ValueError, r"x has shape \(\), expected at least 1 dim", lambda: fk.softmax(np.zeros((), np.float32))),
        (TypeError, "x has dtype bool", lambda: fk.softmax(x > 0)),
        (ValueError, r"y has shape \(6,\), expected \(4, 6\)", lambda: fk.softmax(x, out=x[0])),
        (ValueError, r"dy has shape \(3, 6\), expected \(4, 6\)", lambda: fk.softmax_backward(x[:3], x)),
    ]:
        with pytest.raises(error, match=match):
            call()
