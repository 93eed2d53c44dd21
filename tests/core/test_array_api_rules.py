"""The array API standard where numpy cannot tell: where tensors come from, special values, and what is forbidden."""

import numpy as np
import pytest

import flow_core as flow

xp = flow.array_api
F, T, B = xp.ones((3, 4)), xp.asarray([1.0, 2.0, 2.0, 5.0]), xp.ones((3, 4), dtype=xp.bool)
PLACES = xp.asarray([2, 0, -1, 2])


def test_infinite_quotients_are_floored_as_the_standard_says():
    inf = np.inf
    a, b = xp.asarray([inf, -inf, 1.0, -1.0, inf, 7.0]), xp.asarray([2.0, 2.0, -inf, inf, inf, 2.0])
    out = xp.floor_divide(a, b)
    np.testing.assert_array_equal(out.numpy(), [inf, -inf, 0, 0, np.nan, 3])
    assert xp.signbit(out).tolist()[2:4] == [True, True]
    assert xp.floor_divide(a, 2.0).tolist()[:2] == [inf, -inf]


def test_expm1_of_complex_infinities_is_the_standards():
    out = xp.expm1(xp.asarray([complex(np.inf, 0), complex(-np.inf, np.inf), complex(np.nan, 0)]))
    assert out.tolist()[:2] == [complex(np.inf, 0), -1]
    assert xp.imag(out).tolist()[2] == 0
    zero = xp.expm1(xp.asarray([complex(-0.0, 0.0), complex(-0.0, -0.0)]))
    assert xp.signbit(xp.real(zero)).tolist() == [False, False]
    assert xp.signbit(xp.imag(zero)).tolist() == [False, True]


def test_tensors_come_from_what_holds_numbers():
    assert xp.asarray([[1, 2], [3, 4]]).dtype == xp.int64
    assert xp.asarray([1, 2.5]).dtype == xp.float32
    assert xp.asarray([xp.asarray(1.5), 2]).tolist() == [1.5, 2]
    assert xp.asarray(range(3)).tolist() == [0, 1, 2]
    x = xp.asarray(np.arange(3), dtype=xp.float64)
    assert x.tolist() == [0, 1, 2]
    assert xp.asarray(x) is x
    assert not np.shares_memory(xp.asarray(x, copy=True).data, x.data)
    assert np.shares_memory(xp.from_dlpack(x).data, x.data)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1], copy=False)
    assert xp.broadcast_shapes((3, 1), (2,), ()) == (3, 2)
    assert xp.empty((2, 0)).spec is xp.empty_like(xp.ones((2, 0))).spec is xp.zeros((2, 0)).spec
    assert xp.empty_like(xp.ones(3), dtype=xp.int8).dtype == xp.int8


def test_elements_are_taken_and_set_by_masks_slices_and_indices():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert x[x > 2].tolist() == [3, 4, 5]
    x[x > 3] = 0
    x[0, 1:] = xp.asarray([7, 8])
    assert x.tolist() == [[0, 7, 8], [3, 0, 0]]
    assert x[xp.asarray([1, 0]), 0].tolist() == [3, 0]
    y = x
    y += 1
    assert y.tolist() == [[1, 8, 9], [4, 1, 1]]
    assert xp.any(x[x == 7])


def test_reshaping_without_a_copy_is_a_view_or_refused():
    x = xp.ones((3, 4))
    assert np.shares_memory(xp.reshape(x, (12,), copy=False).data, x.data)
    assert not np.shares_memory(xp.reshape(x, (12,), copy=True).data, x.data)
    with pytest.raises(ValueError, match="copy=False forbids"):
        xp.reshape(x.mT, (12,), copy=False)


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
