"""The gradients of padding and of sampling at points agree with finite differences, to second order."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.functions.padding import pad
from flow_core.functions.sampling import affine_grid, grid_sample

RNG = np.random.default_rng(0)
IMAGE, VOLUME = RNG.standard_normal((2, 2, 3, 4)), RNG.standard_normal((1, 2, 2, 3, 4))
POINTS, POINTS_3D = RNG.uniform(-1.3, 1.3, (2, 2, 3, 2)), RNG.uniform(-1.3, 1.3, (1, 1, 2, 3, 3))
CASES = {
    "constant": (lambda x: pad(x, (1, -1, 0, 2), value=3.0), IMAGE),
    "reflect": (lambda x: pad(x, (1, 2, -1, 2), "reflect"), IMAGE),
    "replicate": (lambda x: pad(x, (3, 0, 1, -2), "replicate"), IMAGE),
    "circular": (lambda x: pad(x, (4, 1, 1, -1), "circular"), IMAGE),
    "pixel_shuffle": (lambda x: flow.pixel_shuffle(x, 2), RNG.standard_normal((1, 4, 2, 2))),
    "channel_shuffle": (lambda x: flow.channel_shuffle(x, 2), IMAGE),
    "affine_grid": (lambda x: affine_grid(x, (2, 1, 2, 3), False), RNG.standard_normal((2, 2, 3))),
    **{
        f"{mode} {padding_mode} {align_corners}": (
            lambda x, g, m=mode, p=padding_mode, a=align_corners: grid_sample(x, g, m, p, a),
            IMAGE,
            POINTS,
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding_mode in ("zeros", "border", "reflection")
        for align_corners in (True, False)
    },
    "trilinear": (lambda x, g: grid_sample(x, g, "bilinear", "reflection", False), VOLUME, POINTS_3D),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_finite_differences(name):
    function, *arrays = CASES[name]
    check_grads(function, *arrays)
