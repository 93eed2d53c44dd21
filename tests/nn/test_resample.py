"""Resampling equals its definition written as a loop; where it must leave a tensor as it is, it does."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F

LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def weights(size, out, mode, align_corners, step):
    """(out, size): what each element of the output takes of each of the input."""
    matrix = np.zeros((out, size))
    for i in range(out):
        if mode == "nearest":
            matrix[i, min(math.floor(np.float32(step) * np.float32(i)), size - 1)] = 1
        elif mode == "nearest-exact":
            matrix[i, min(math.floor(np.float32(step) * np.float32(i + 0.5)), size - 1)] = 1
        elif mode == "area":
            first, last = i * size // out, -(-(i + 1) * size // out)
            matrix[i, first:last] = 1 / (last - first)
        else:
            at = step * i if align_corners else step * (i + 0.5) - 0.5
            at = at if mode == "bicubic" else min(max(at, 0), size - 1)
            for j in range(math.floor(at) - 1, math.floor(at) + 3):
                d = abs(at - j)
                if mode != "bicubic":
                    w = max(1 - d, 0)
                elif d < 1:
                    w = 1.25 * d**3 - 2.25 * d**2 + 1
                else:
                    w = -0.75 * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0
                matrix[i, min(max(j, 0), size - 1)] += w
    return matrix


@st.composite
def resized(draw):
    n = draw(st.integers(1, 3))
    mode = draw(st.sampled_from(["nearest", "nearest-exact", "area", LINEAR[n], "bicubic" if n == 2 else LINEAR[n]]))
    corners = draw(st.sampled_from([None, True, False])) if mode in ("bicubic", LINEAR[n]) else None
    size = tuple(draw(st.integers(1, 6)) for _ in range(n))
    factor = draw(st.none() | st.sampled_from([0.6, 1.7, 2.0, 3]))
    out = tuple(draw(st.integers(1, 9)) for _ in range(n))
    return size, mode, corners, out, factor, draw(st.booleans())


@examples(150)
@given(resized())
def test_resampling_weighs_elements_dim_by_dim(drawn):
    size, mode, corners, out, factor, recompute = drawn
    x = expected = numbers(2, 1, *size)
    if factor is not None:
        out = tuple(math.floor(n * factor) for n in size)
        if 0 in out:
            with pytest.raises(ValueError, match="above 0"):
                F.interpolate(flow.tensor(x), scale_factor=factor, mode=mode)
            return
    for d, (n, m) in enumerate(zip(size, out, strict=True), 2):
        step = n / m if factor is None or recompute or (n == m and mode in LINEAR.values()) else 1 / factor
        if corners:
            step = (n - 1) / (m - 1) if m > 1 else 0
        expected = np.moveaxis(np.moveaxis(expected, d, -1) @ weights(n, m, mode, corners, step).T, -1, d)
    how = {"size": out} if factor is None else {"scale_factor": factor, "recompute_scale_factor": recompute}
    found = F.interpolate(flow.tensor(x), mode=mode, align_corners=corners, **how)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [flow.bfloat16, flow.float16, flow.float32, flow.float64])
def test_the_same_size_is_the_same_tensor(mode, dtype):
    x = flow.tensor(numbers(1, 2, 3, 4)).to(dtype)
    out = F.interpolate(x, (3, 4), mode=mode)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out.numpy(), x.numpy())


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_without_aliasing_a_smaller_image_keeps_a_ramp_and_its_mean(mode):
    ramp = np.tile(np.arange(16.0), (1, 1, 4, 1))
    out = F.interpolate(flow.tensor(ramp), (4, 4), mode=mode, antialias=True).numpy()
    np.testing.assert_allclose(out[0, 0, :, 1:3], np.tile([5.5, 9.5], (4, 1)), atol=0.3)
    noise = (-1.0) ** np.arange(16) * np.ones((1, 1, 4, 16))
    out = F.interpolate(flow.tensor(noise), (4, 4), mode=mode, antialias=True).numpy()
    assert abs(out).max() < 0.15
    larger = F.interpolate(flow.tensor(ramp), (4, 32), mode="bilinear", antialias=True).numpy()
    np.testing.assert_allclose(larger, F.interpolate(flow.tensor(ramp), (4, 32), mode="bilinear").numpy(), atol=1e-12)


def test_the_old_names_are_the_same():
    x = flow.tensor(numbers(1, 2, 3, 4))
    np.testing.assert_array_equal(F.upsample(x, scale_factor=2).numpy(), F.interpolate(x, scale_factor=2).numpy())
    np.testing.assert_array_equal(F.upsample_nearest(x, 5).numpy(), F.interpolate(x, 5).numpy())
    bilinear = F.interpolate(x, (5, 5), mode="bilinear", align_corners=True)
    np.testing.assert_array_equal(F.upsample_bilinear(x, (5, 5)).numpy(), bilinear.numpy())


def test_arguments_that_do_not_fit_are_refused():
    x = flow.ones(1, 1, 2, 2)
    for wrong in (
        {}, {"size": 2, "scale_factor": 2}, {"size": (2,)}, {"size": 0}, {"scale_factor": (1.0, 2.0, 3.0)}, {"scale_factor": 0.1},
        {"size": 2, "mode": "linear"}, {"size": 2, "mode": "cubic"}, {"size": 2, "align_corners": True},
        {"size": 2, "antialias": True}, {"size": 2, "recompute_scale_factor": True},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="interpolate"):
            F.interpolate(x, **wrong)
    with pytest.raises(TypeError, match="ints"):
        F.interpolate(x, 2.5)
    with pytest.raises(TypeError, match="float type"):
        F.interpolate(x.long(), 2, mode="bilinear")
    assert F.interpolate(x.to(flow.uint8), 3).shape == (1, 1, 3, 3)


GRADIENTS = {
    "nearest": lambda x: F.interpolate(x, (5, 3)),
    "bilinear": lambda x: F.interpolate(x, (5, 3), mode="bilinear", align_corners=True),
    "bicubic": lambda x: F.interpolate(x, scale_factor=1.7, mode="bicubic"),
    "area": lambda x: F.interpolate(x, (5, 3), mode="area"),
    "antialias": lambda x: F.interpolate(x, (2, 3), mode="bicubic", antialias=True),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_finite_differences(name):
    check_grads(GRADIENTS[name], numbers(1, 2, 3, 4))
