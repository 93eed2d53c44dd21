"""What the array API standard forbids is an error, of Python's kinds."""

import pytest

import flow_core as flow

xp = flow.array_api
F, T, B = xp.ones((3, 4)), xp.asarray([1.0, 2.0, 2.0, 5.0]), xp.ones((3, 4), dtype=xp.bool)
PLACES = xp.asarray([2, 0, -1, 2])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: xp.squeeze(F, 0), ValueError),
        (lambda: xp.expand_dims(F, 3), IndexError),
        (lambda: xp.expand_dims(F, -4), IndexError),
        (lambda: xp.take(F, PLACES), ValueError),
        (lambda: xp.take(T, PLACES + 3), IndexError),
        (lambda: xp.nonzero(xp.asarray(1)), ValueError),
        (lambda: xp.matrix_transpose(T), ValueError),
        (lambda: xp.tril(T), ValueError),
        (lambda: xp.searchsorted(F, F), ValueError),
        (lambda: xp.searchsorted(T, T, side="middle"), ValueError),
        (lambda: xp.vecdot(T, T[:2]), ValueError),
        (lambda: xp.matmul(T, T[:2]), ValueError),
        (lambda: xp.matmul(xp.asarray(1.0), T), ValueError),
        (lambda: xp.max(F[:0]), ValueError),
        (lambda: xp.sum(F, axis=2), ValueError),
        (lambda: xp.cumulative_sum(F), ValueError),
        (lambda: xp.positive(B), TypeError),
        (lambda: xp.negative(B), TypeError),
        (lambda: xp.add(F, T[:3]), ValueError),
        (lambda: xp.meshgrid(T, T, indexing="yx"), ValueError),
        (lambda: xp.zeros((2, -1)), ValueError),
        (lambda: xp.take_along_axis(F, PLACES), ValueError),
    ],
)
def test_what_the_standard_forbids_is_refused(call, error):
    with pytest.raises(error):
        call()
