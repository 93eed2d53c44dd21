import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flow_kernels as fk
from flow_kernels import reference
from flow_kernels.testing import EPS, SUM, TINY, assert_within, normal, poisoned, rows, scales, seeds, sizes


def forward_bounds(x, weight, bias, y, rstd):
    """From the error of the mean, D in units of the standard deviation, and so of the variance by D^2."""
    s = rstd.astype(np.float64)[..., None]
    w = np.ones(x.shape[-1]) if weight is None else np.abs(weight)
    b = 0 if bias is None else np.abs(bias)
    largest = np.abs(x).max(-1, keepdims=True, initial=0)
    d = SUM * largest * s
    relative = d * d + SUM
    h = np.abs(x - x.mean(-1, keepdims=True, dtype=np.float64)) * s
    y_bound = w * (d + h * relative) + 4 * EPS * (np.abs(y) + w * h + b)
    return y_bound, SUM * largest[..., 0], 2 * s[..., 0] * relative[..., 0] + TINY


@given(seeds, rows, sizes, scales, st.booleans(), st.booleans(), st.sampled_from((0.0, 3.0)))
@example(0, 3, 1, 1e4, True, True, 0.0)
def test_layer_norm_equals_the_reference(seed, num_rows, cols, scale, with_weight, with_bias, mean):
    x = normal(seed, (num_rows, cols), scale, mean * scale)
    weight = normal(seed + 1, cols) if with_weight else None
    bias = normal(seed + 2, cols) if with_bias else None
    out = poisoned(x.shape), poisoned(num_rows), poisoned(num_rows)
    assert fk.layer_norm(x, weight, bias, 1e-5, out=out) is not None
    expected = reference.layer_norm(x, weight, bias, 1e-5)
    for actual, wanted, bound in zip(out, expected, forward_bounds(x, weight, bias, *expected[::2]), strict=True):
        assert_within(actual, wanted, bound)


@given(seeds, rows, sizes, scales, st.booleans())
def test_layer_norm_backward_equals_the_reference(seed, num_rows, cols, scale, with_weight):
    x, dy = normal(seed, (num_rows, cols), scale), normal(seed + 1, (num_rows, cols))
    weight = normal(seed + 2, cols) if with_weight else None
    _, mean, rstd = fk.layer_norm(x, weight)
    out = poisoned(x.shape), poisoned(cols), poisoned(cols)
    fk.layer_norm_backward(dy, x, weight, mean, rstd, out=out)
    expected = reference.layer_norm_backward(dy, x, weight, mean, rstd)
    s = rstd.astype(np.float64)[:, None]
    h = np.abs(x - mean.astype(np.float64)[:, None]) * s
    g = np.abs(dy) * (1 if weight is None else np.abs(weight))
    averages = g.sum(-1, keepdims=True) / cols, (g * h).sum(-1, keepdims=True) / cols
    assert_within(
        out[0], expected[0], s * (SUM * (averages[0] + h * averages[1]) + 8 * EPS * (g + h * averages[1])) + TINY
    )
    # A chunk adds its rows one by one; then the 32 chunks are added.
    additions = (num_rows // 32 + 1 + 32 + 6) * EPS
    assert_within(out[1], expected[1], additions * (np.abs(dy) * h).sum(0) + TINY)
    assert_within(out[2], expected[2], additions * np.abs(dy, dtype=np.float64).sum(0) + TINY)


def test_layer_norm_takes_any_leading_dims():
    x = normal(0, (2, 3, 4, 5))
    y, mean, rstd = fk.layer_norm(x)
    assert y.shape == x.shape
    assert mean.shape == rstd.shape == (2, 3, 4)
    flat = fk.layer_norm(x.reshape(24, 5))
    np.testing.assert_array_equal(y.reshape(24, 5), flat[0])
    assert fk.layer_norm(x[0, 0, 0])[1].shape == ()


def test_nan_stays_in_its_row():
    x = normal(0, (3, 40))
    x[1, 7] = np.nan
    y, mean, rstd = fk.layer_norm(x)
    assert np.isnan(y[1]).all()
    assert np.isnan([mean[1], rstd[1]]).all()
    assert not np.isnan(y[[0, 2]]).any()


def test_layer_norm_works_in_place():
    x = normal(0, (5, 33))
    expected = fk.layer_norm(x)
    y, _, _ = fk.layer_norm(x, out=(x, poisoned(5), poisoned(5)))
    assert y is x
    np.testing.assert_array_equal(x, expected[0])


@pytest.mark.parametrize("alias", ["dy", "x"])
def test_layer_norm_backward_works_in_place(alias):
    x, dy, weight = normal(0, (70, 33)), normal(1, (70, 33)), normal(2, 33)
    _, mean, rstd = fk.layer_norm(x)
    expected = fk.layer_norm_backward(dy, x, weight, mean, rstd)
    out = {"dy": dy, "x": x}[alias], poisoned(33), poisoned(33)
    for actual, wanted in zip(fk.layer_norm_backward(dy, x, weight, mean, rstd, out=out), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_gradients_that_are_not_asked_for_are_left_out():
    x = normal(0, (4, 6))
    _, mean, rstd = fk.layer_norm(x)
    expected = fk.layer_norm_backward(x, x, None, mean, rstd)
    dx, dweight, dbias = fk.layer_norm_backward(x, x, None, mean, rstd, out=(poisoned((4, 6)), None, poisoned(6)))
    assert dweight is None
    np.testing.assert_array_equal(dx, expected[0])
    np.testing.assert_array_equal(dbias, expected[2])


def test_bad_arguments_are_refused_with_the_reason():
    x = normal(0, (4, 6))
    for error, match, call in [
        (TypeError, "x is a list, expected a numpy array of float32", lambda: fk.layer_norm([1.0])),
        (
            TypeError,
            r"x has dtype float64, expected float32; convert it with x.astype",
            lambda: fk.layer_norm(x.astype(np.float64)),
        ),
        (ValueError, r"x of shape \(6, 4\) has strides \(4, 24\), expected a C-contiguous", lambda: fk.layer_norm(x.T)),
        (
            ValueError,
            r"x has shape \(4, 0\), expected a last dim of at least 1",
            lambda: fk.layer_norm(x[:, :0].copy()),
        ),
        (ValueError, r"weight has shape \(5,\), expected \(6,\)", lambda: fk.layer_norm(x, x[0, :5])),
        (ValueError, r"bias has shape \(4, 6\), expected \(6,\)", lambda: fk.layer_norm(x, None, x)),
        (
            ValueError,
            r"mean has shape \(3,\), expected \(4,\): the leading dims of x",
            lambda: fk.layer_norm(x, out=(x, x[0, :3], x[0, :4])),
        ),
        (
            ValueError,
            r"dy has shape \(2, 6\), expected \(4, 6\)",
            lambda: fk.layer_norm_backward(x[:2], x, None, x[0, :4], x[0, :4]),
        ),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_an_output_that_is_read_only_or_overlaps_in_part_is_refused():
    memory = normal(0, 30)
    x = memory[:24].reshape(4, 6)
    with pytest.raises(ValueError, match="y overlaps x in part"):
        fk.layer_norm(x, out=(memory[6:].reshape(4, 6), poisoned(4), poisoned(4)))
    y = poisoned((4, 6))
    y.flags.writeable = False
    with pytest.raises(ValueError, match=r"y of shape .* is read-only"):
        fk.layer_norm(x, out=(y, poisoned(4), poisoned(4)))


def test_an_array_that_is_not_aligned_is_refused():
    x = np.frombuffer(bytearray(4 * 6 + 1), np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="x does not begin at a multiple of 4 bytes"):
        fk.layer_norm(x)
