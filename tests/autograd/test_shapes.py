"""The functions that arrange dims hand gradients back to where the elements came from."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

CASES = {
    "flip": lambda x: flow.flip(x, (0, 1)) * x,
    "roll": lambda x: flow.roll(x, (1, 2), (0, 1)) * x,
    "rot90": lambda x: flow.rot90(x) * flow.rot90(x, 3),
    "tile": lambda x: flow.tile(x, 2, 2) * flow.tile(x, 2, 2),
    "hstack": lambda x: flow.hstack([x, x * x]),
    "tensor_split": lambda x: flow.tensor_split(x, 2, 1)[1] * x[:, :1],
    "narrow": lambda x: flow.narrow(x, 1, 1, 2) * x[:, :2],
    "meshgrid": lambda x: [a * a for a in flow.meshgrid(x[0], x[1])],
    "movedim": lambda x: flow.movedim(x, 0, 1) @ x,
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_finite_differences(name):
    check_grads(CASES[name], np.random.default_rng(2).uniform(-1, 1, (3, 3)), order=2)
