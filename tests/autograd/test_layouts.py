"""Functions of places, diagonals and copies hand gradients back to where the elements came from, to second order."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

SQUARE = np.random.default_rng(3).uniform(-1, 1, (3, 3))
CASES = {
    "diag": lambda x: x.diag(1) * x[0, :2],
    "diag_embed": lambda x: flow.diag_embed(x, 1, 0, 2) ** 2,
    "diagflat": lambda x: flow.diagflat(x) ** 2,
    "diagonal": lambda x: x.diagonal(-1) ** 3,
    "diagonal_scatter": lambda x: flow.diagonal_scatter(x * x, x[0] ** 3),
    "tril": lambda x: x.tril() @ x.triu(1),
    "as_strided": lambda x: x.as_strided((3, 2), (2, 1), 1) ** 2,
    "as_strided of a transposed one": lambda x: x.T.as_strided((3, 3), (1, 2)) * x,
    "as_strided_scatter": lambda x: x.as_strided_scatter(x[0, :2] ** 2, (2,), (4,), 1) * x,
    "unfold": lambda x: x.unfold(0, 2, 1) ** 2,
    "block_diag": lambda x: flow.block_diag(x, x[0] * x[1]) ** 2,
    "cartesian_prod": lambda x: flow.cartesian_prod(x[0], x[1]) ** 2,
    "combinations": lambda x: flow.combinations(x[0]) ** 3,
    "vander": lambda x: flow.vander(x[0], 4),
    "gradient": lambda x: [g * x for g in flow.gradient(x * x, spacing=0.5, edge_order=2)],
    "cat with nothing": lambda x: flow.cat([x[0, :0], x, x * x], 1),
    "view_copy": lambda x: flow.view_copy(x, (9,)) ** 2,
    "unbind_copy": lambda x: [p * p for p in flow.unbind_copy(x, 1)],
    "unsafe_split": lambda x: [p * p for p in flow.unsafe_split(x, 2)],
    "fill": lambda x: flow.fill(x, x[0, 0] ** 2),
    "sgn": lambda x: flow.sgn(x) * x,
    "conj": lambda x: x.conj() * x.real,
    "angle": lambda x: x.angle() * x,
    "bernoulli": lambda x: flow.bernoulli(x * 0) * x,
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_finite_differences(name):
    check_grads(CASES[name], SQUARE, order=2)


def test_gradients_have_the_memory_order_of_their_own():
    x = flow.tensor(SQUARE, requires_grad=True)
    (x[1:].as_strided((2,), (3,), 3) * 2).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [2, 0, 0], [2, 0, 0]]
    with pytest.raises(ValueError, match="lies before it"):
        x[1:].as_strided((2,), (3,), 0)
    with pytest.raises(ValueError, match="not dense"):
        x[:, :2].as_strided((2,), (3,))
