"""Padding, sampling at points, and the shuffles of channels and pixels equal numpy's and scipy's, or plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import flow_core as flow
from flow_core.functions.padding import pad
from flow_core.functions.sampling import affine_grid, grid_sample
from flow_core.testing import examples

DTYPES = [
    flow.bool,
    flow.int8,
    flow.int64,
    flow.uint8,
    flow.bfloat16,
    flow.float16,
    flow.float32,
    flow.float64,
    flow.complex64,
]
NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def numbers(shape, dtype=flow.float64, seed=0):
    return np.asarray(np.random.default_rng(seed).integers(-4, 5, shape)).astype(dtype)


@st.composite
def padded(draw, mode):
    """(array, pad): sizes from 1 (0 for constants), pads that fit, negative ones among them."""
    least = 0 if mode == "constant" else 1
    ndim = draw(st.integers(1, 3))
    shape = [draw(st.integers(least, 4)) for _ in range(ndim + 1)]
    ends = []
    for n in reversed(shape[1:]):
        most = {"constant": 3, "reflect": n - 1, "replicate": 3, "circular": n}[mode]
        low, high = (draw(st.integers(-1 if n > 3 else 0, most)) for _ in range(2))
        ends += [low, high]
    return numbers(shape, draw(st.sampled_from(DTYPES)), draw(st.integers(0, 99))), ends


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_is_numpy_s(mode):
    @examples(60)
    @given(padded(mode))
    def law(drawn):
        x, ends = drawn
        pairs = [(0, 0), *reversed([*zip(ends[::2], ends[1::2], strict=True)])]
        grown = [(max(low, 0), max(high, 0)) for low, high in pairs]
        kept = tuple(slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(x.shape, pairs, strict=True))
        if mode == "constant":
            expected = np.pad(x[kept], grown, constant_values=2)
            out = pad(flow.tensor(x), ends, value=2)
        elif mode == "circular":
            if any(low > n or high > n for n, (low, high) in zip(x[kept].shape, grown, strict=True)):
                return
            expected, out = np.pad(x[kept], grown, mode="wrap"), pad(flow.tensor(x), ends, mode)
        else:
            expected, out = np.pad(x, grown, mode=NUMPY_MODES[mode]), pad(flow.tensor(x), ends, mode)
            whole = tuple(
                slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(expected.shape, pairs, strict=True)
            )
            expected = expected[whole]
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out.numpy(), expected)

    law()


def test_pads_that_do_not_fit_are_refused():
    x = flow.ones(2, 3, 4)
    for ends, mode in [((4, 0), "reflect"), ((5, 0), "circular"), ((1,), "constant"), ((-5, 0), "constant")]:
        with pytest.raises(ValueError, match="pad"):
            pad(x, ends, mode)
    with pytest.raises(ValueError, match="mode is 'mirror'"):
        pad(x, (1, 1), "mirror")
    with pytest.raises(ValueError, match="takes no value"):
        pad(x, (1, 1), "reflect", 1.0)
    with pytest.raises(ValueError, match="last 1, 2 or 3 dims"):
        pad(x, (1, 1, 1, 1, 1, 1), "reflect")
    with pytest.raises(TypeError, match="expected ints"):
        flow.constant_pad_nd(x, (1.5, 1))


@given(st.integers(0, 2), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.sampled_from(DTYPES))
@examples(40)
def test_pixels_become_channels_and_back(batch, channels, r, side, dtype):
    x = numbers((batch, channels, side * r, 2 * r), dtype)
    small = flow.pixel_unshuffle(flow.tensor(x), r)
    assert small.shape == (batch, channels * r * r, side, 2)
    for c, i, j in np.ndindex(channels, r, r):
        np.testing.assert_array_equal(small.numpy()[:, (c * r + i) * r + j], x[:, c, i::r, j::r])
    np.testing.assert_array_equal(flow.pixel_shuffle(small, r).numpy(), x)


def test_channels_are_dealt_out_in_turn():
    x = numbers((2, 6, 1, 3))
    out = flow.channel_shuffle(flow.tensor(x), 2).numpy()
    np.testing.assert_array_equal(out, x[:, [0, 3, 1, 4, 2, 5]])
    with pytest.raises(ValueError, match="no multiple of 4 groups"):
        flow.channel_shuffle(flow.tensor(x), 4)
    with pytest.raises(ValueError, match="no multiple of 4 squared"):
        flow.pixel_shuffle(flow.tensor(x), 4)
    with pytest.raises(ValueError, match="no multiples of 2"):
        flow.pixel_unshuffle(flow.tensor(x), 2)
    with pytest.raises(ValueError, match="expected 1 or more"):
        flow.pixel_shuffle(flow.tensor(x), 0)


SCIPY_MODES = {
    "zeros": "grid-constant",
    "border": "nearest",
    ("reflection", True): "mirror",
    ("reflection", False): "reflect",
}


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(4, 5), (2, 3, 4)])
def test_samples_between_elements_are_scipy_s(padding_mode, align_corners, size):
    rng = np.random.default_rng(0)
    x, grid = rng.standard_normal((2, 3, *size)), rng.uniform(-2, 2, (2, 6, *[1] * (len(size) - 1), len(size)))
    scale = [(n - 1) / 2 if align_corners else n / 2 for n in size]
    at = [(grid[..., len(size) - 1 - d] + 1) * s - (0 if align_corners else 0.5) for d, s in enumerate(scale)]
    mode = SCIPY_MODES.get(padding_mode) or SCIPY_MODES[padding_mode, align_corners]
    out = grid_sample(flow.tensor(x), flow.tensor(grid), "bilinear", padding_mode, align_corners).numpy()
    for b, c in np.ndindex(2, 3):
        expected = ndimage.map_coordinates(x[b, c], [a[b] for a in at], order=1, mode=mode)
        np.testing.assert_allclose(out[b, c], expected, atol=1e-12)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("align_corners", [True, False])
def test_the_points_of_the_identity_are_the_elements(mode, align_corners):
    x = flow.tensor(numbers((2, 3, 4, 5)))
    theta = flow.tensor(np.tile(np.eye(2, 3), (2, 1, 1)))
    grid = affine_grid(theta, (2, 3, 4, 5), align_corners)
    out = grid_sample(x, grid, mode, "border", align_corners)
    np.testing.assert_allclose(out.numpy(), x.numpy(), atol=1e-12)
    half = grid_sample(x.to(flow.bfloat16), grid.to(flow.bfloat16), mode, align_corners=align_corners)
    assert half.dtype == flow.bfloat16


def test_points_that_are_no_numbers_give_what_lies_beyond():
    grid = flow.tensor(np.full((1, 1, 1, 2), np.nan))
    assert grid_sample(flow.ones(1, 1, 2, 2).double(), grid).item() == 0


def test_samplers_refuse_what_does_not_fit():
    x, grid = flow.ones(1, 1, 2, 2), flow.zeros(1, 2, 2, 2)
    with pytest.raises(ValueError, match="mode is 'cubic'"):
        grid_sample(x, grid, "cubic")
    with pytest.raises(ValueError, match="padding_mode is 'none'"):
        grid_sample(x, grid, padding_mode="none")
    with pytest.raises(ValueError, match="one batch"):
        grid_sample(flow.ones(2, 1, 2, 2), grid)
    with pytest.raises(TypeError, match="one float type"):
        grid_sample(x, grid.double())
    with pytest.raises(ValueError, match="must have 5 dims"):
        flow.grid_sampler_3d(x, grid, 0, 0, False)
    with pytest.raises(ValueError, match="must be 0, 1 or 2"):
        flow.grid_sampler_2d(x, grid, 3, 0, False)
    with pytest.raises(ValueError, match="bicubic"):
        flow.grid_sampler(flow.ones(1, 1, 2, 2, 2), flow.zeros(1, 2, 2, 2, 3), 2, 0, False)
    with pytest.raises(ValueError, match="theta"):
        affine_grid(flow.ones(1, 2, 2), (1, 1, 2, 2))
