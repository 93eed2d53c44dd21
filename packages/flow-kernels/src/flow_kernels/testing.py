"""Strategies and assertions for tests of kernels. Needs hypothesis."""

import numpy as np
from hypothesis import strategies as st

EPS = float(np.finfo(np.float32).eps) / 2
"""The largest relative error of one rounding to float32."""

TINY = float(np.finfo(np.float32).tiny)
"""The smallest normal float32: below it results may be flushed to 0."""

EXP = 1e-7
"""The relative error of the kernels' exp."""

SUM = 45 * EPS
"""The error of their sums, relative to the sum of magnitudes: 32 additions a lane, 5 folds of the lanes, the roundings
of the terms, and the last one."""

SIZES = (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1000, 1023, 1025, 2500)
"""Around the widths of vectors (up to 32 lanes) and of the blocks of a sum (1024)."""

sizes = st.sampled_from(SIZES)
rows = st.sampled_from((0, 1, 2, 3, 17, 33, 65))
scales = st.sampled_from((1e-3, 1.0, 30.0, 1e4))
seeds = st.integers(0, 2**32 - 1)


def poisoned(shape) -> np.ndarray:
    """A float32 array of NaN, for an output that must be written in full."""
    return np.full(shape, np.nan, np.float32)


def normal(seed, shape, scale=1.0, mean=0.0) -> np.ndarray:
    """Normal float32 numbers."""
    return np.asarray(np.random.default_rng(seed).normal(size=shape) * scale + mean, np.float32)


def assert_within(actual, expected, bound) -> None:
    """|actual - expected| <= bound, element by element; NaN and inf where `expected` has them."""
    assert actual.dtype == expected.dtype == np.float32
    assert actual.shape == expected.shape
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(actual.astype(np.float64) - expected)
        excess = np.where(finite, error - np.broadcast_to(bound, expected.shape), -1.0)
    if not np.all(excess <= 0):
        at = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), excess.shape)
        bound = np.broadcast_to(bound, expected.shape)[at]
        raise AssertionError(
            f"at {at}: {actual[at]!r}, expected {expected[at]!r} within {bound:.3g}, off by {error[at]:.3g}"
        )


def assert_same_bits(actual, expected) -> None:
    """Equal bit for bit, but that one NaN is as good as another."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    same = (actual.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(actual) & np.isnan(expected))
    assert same.all(), f"{np.count_nonzero(~same)} of {same.size} elements differ"
