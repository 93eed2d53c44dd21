"""Gradients through the array namespace, whose functions are made of flow's."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

xp = flow.array_api


def x(*shape):
    """Numbers that are nowhere equal or whole."""
    return flow.from_numpy(
        np.random.default_rng(sum(shape)).permutation(np.linspace(-1.9, 2.3, int(np.prod(shape)))).reshape(shape)
    )


def positive(n):
    a = x(n, n)
    return a @ a.mT + n * xp.eye(n, dtype=xp.float64)


PLACES = xp.asarray([2, 0, -1, 2])
CASES = {
    "add": (lambda a, b: xp.add(a, b), x(2, 3), x(3)),
    "asarray": (lambda a: xp.asarray(a, copy=True), x(3)),
    "clip": (lambda a: xp.clip(a, -1.0, 1.5), x(3, 4)),
    "concat": (lambda a, b: xp.concat([a, b], axis=None), x(2, 2), x(3)),
    "cumulative_sum": (lambda a: xp.cumulative_sum(a, axis=0, include_initial=True), x(3, 2)),
    "cumulative_prod": (lambda a: xp.cumulative_prod(a, axis=0, include_initial=True), x(3, 2)),
    "diff": (lambda a, b: xp.diff(a, axis=0, prepend=b), x(3, 2), x(1, 2)),
    "divide": (lambda a, b: xp.divide(a, b), x(2, 3), x(3)),
    "flip": (lambda a: xp.flip(a), x(2, 3)),
    "matmul": (lambda a, b: xp.matmul(a, b), x(2, 3), x(3)),
    "mean": (lambda a: xp.mean(a, axis=(0, 2)), x(2, 3, 2)),
    "moveaxis": (lambda a: xp.moveaxis(a, 0, -1), x(2, 3, 2)),
    "prod": (lambda a: xp.prod(a, axis=1), x(2, 3)),
    "real": (lambda a: xp.real(a), x(3)),
    "repeat": (lambda a: xp.repeat(a, xp.asarray([2, 0, 1]), axis=1), x(2, 3)),
    "reshape": (lambda a: xp.reshape(a, (3, 2), copy=True), x(2, 3)),
    "roll": (lambda a: xp.roll(a, 1, axis=(0, 1)), x(2, 3)),
    "sort": (lambda a: xp.sort(a, axis=0, descending=True), x(3, 2)),
    "stack": (lambda a, b: xp.stack([a, b], axis=-1), x(2, 3), x(2, 3)),
    "std": (lambda a: xp.std(a, axis=0, correction=0.5, keepdims=True), x(3, 2)),
    "take": (lambda a: xp.take(a, PLACES, axis=1), x(2, 3)),
    "take_along_axis": (lambda a: xp.take_along_axis(a, xp.reshape(PLACES, (1, 4)), axis=-1), x(2, 3)),
    "tensordot": (lambda a, b: xp.tensordot(a, b, axes=((1,), (0,))), x(2, 3), x(3, 2)),
    "tile": (lambda a: xp.tile(a, (2, 1, 2)), x(2, 3)),
    "tril": (lambda a: xp.tril(a, k=-1), x(3, 3)),
    "unique_values": (lambda a: xp.unique_values(a), x(2, 3)),
    "var": (lambda a: xp.var(a, axis=(), correction=-0.5), x(3)),
    "vecdot": (lambda a, b: xp.vecdot(a, b, axis=-2), x(2, 3, 2), x(3, 1)),
    "where": (lambda a, b: xp.where(a > 0, a, b), x(2, 3), x(3)),
    "fft.fftshift": (lambda a: xp.fft.fftshift(a, axes=1), x(2, 5)),
    "linalg.cross": (lambda a, b: xp.linalg.cross(a, b), x(2, 3), x(3)),
    "linalg.det": (lambda a: xp.linalg.det(a), x(3, 3)),
    "linalg.diagonal": (lambda a: xp.linalg.diagonal(a, offset=1), x(2, 3, 4)),
    "linalg.inv": (lambda a: xp.linalg.inv(a), positive(3)),
    "linalg.matrix_norm": (lambda a: xp.linalg.matrix_norm(a), x(2, 3)),
    "linalg.outer": (lambda a, b: xp.linalg.outer(a, b), x(2), x(3)),
    "linalg.solve": (lambda a, b: xp.linalg.solve(a, b), positive(3), x(3)),
    "linalg.trace": (lambda a: xp.linalg.trace(a, offset=-1), x(3, 3)),
    "linalg.vector_norm": (lambda a: xp.linalg.vector_norm(a, axis=0, ord=3), x(3, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_flow_through_the_namespace(name):
    function, *tensors = CASES[name]
    check_grads(function, *tensors)


def test_what_has_no_gradient_is_an_integer_or_new():
    a = x(3).requires_grad_()
    for out in (
        xp.argsort(a),
        xp.argmax(a),
        xp.nonzero(a)[0],
        xp.searchsorted(xp.sort(a), a),
        xp.zeros_like(a),
        xp.floor(a) == 1,
    ):
        assert not out.requires_grad
    assert not xp.nextafter(a, a).requires_grad
