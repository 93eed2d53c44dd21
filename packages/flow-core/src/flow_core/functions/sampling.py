"""Sampling images and volumes at points between their elements (Jaderberg and others, "Spatial transformer networks", 1506.02025)."""

from itertools import product

import numpy as np

from flow_core.dtype import CATEGORIES, float32, int64
from flow_core.ops import binary, elementwise, unary
from flow_core.ops.linalg import matmul
from flow_core.ops.shape import expand, reshape, transpose
from flow_core.ops.window import pick
from flow_core.spec import as_shape, num_elements
from flow_core.tensor import from_numpy

MODES = ("bilinear", "nearest", "bicubic")
PADDING_MODES = ("zeros", "border", "reflection")
A = -0.75  # the free parameter of the cubic kernel (Keys, "Cubic convolution interpolation", 1981, equation 4)


def cubic_weights(t):
    """The weights of the four elements around a point that lies t after the second of them."""

    def near(d):
        return ((A + 2) * d - (A + 3)) * d * d + 1

    def far(d):
        return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def unnormalized(c, size, align_corners):
    """Coordinates of [-1, 1] as those of elements: -1 and 1 are the centres of the outer elements, or their outer edges."""
    return (c + 1) * ((size - 1) / 2) if align_corners else ((c + 1) * size - 1) * 0.5


def clipped(c, size):
    """Coordinates brought to the nearest element's; beyond and at the ends they have no gradient."""
    c = elementwise.where(elementwise.gt(c, 0), c, 0.0)
    return elementwise.where(elementwise.lt(c, size - 1), c, float(size - 1))


def mirrored(c, size, align_corners):
    """Coordinates reflected at the centres of the outer elements, or at their edges, as often as it takes."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if not span:
        return c * 0.0
    c = elementwise.abs(c - low)
    rest = binary.fmod(c, span)
    turned = elementwise.eq(binary.remainder(unary.floor(c.detach() / span), 2.0), 1.0)
    return elementwise.where(turned, span - rest, rest) + low


def padded(c, size, padding_mode, align_corners):
    """Coordinates as the padding mode brings them inside."""
    if padding_mode == "zeros":
        return c
    return clipped(mirrored(c, size, align_corners) if padding_mode == "reflection" else c, size)


def inside(place, size):
    """(place, or 0 where there is no element; whether there is one) of whole float coordinates. NaN has none."""
    ok = binary.logical_and(elementwise.ge(place, 0), elementwise.le(place, size - 1))
    return elementwise.where(ok, place, 0.0), ok


def taps(c, size, mode, padding_mode, align_corners):
    """What a sample takes along one dim: a list of (place, whether an element is there, weight or None)."""
    c = unnormalized(c, size, align_corners)
    if mode == "bicubic":
        first = unary.floor(c.detach())
        weights = cubic_weights(c - first)
        places = [padded(first + (i - 1.0), size, padding_mode, align_corners) for i in range(4)]
        return [(*inside(unary.rint(p), size), w) for p, w in zip(places, weights, strict=True)]
    c = padded(c, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(*inside(unary.rint(c.detach()), size), None)]
    first = unary.floor(c.detach())
    t = c - first
    return [(*inside(first, size), 1 - t), (*inside(first + 1.0, size), t)]


def check_sample(name, x, grid, mode, padding_mode):
    n = x.ndim - 2
    if n not in (2, 3) or grid.ndim != n + 2 or grid.shape[-1] != n or x.shape[0] != grid.shape[0]:
        raise ValueError(
            f"{name}: input {x.spec} and grid {grid.spec} must be (batch, channels, *size) and (batch, *out size, dims), "
            "of 2 or 3 dims of size and one batch"
        )
    if 0 in x.shape[2:]:
        raise ValueError(f"{name}: input {x.spec} has an empty dim")
    if CATEGORIES[x.dtype] != 2 or grid.dtype is not x.dtype:
        raise TypeError(f"{name}: input {x.spec} and grid {grid.spec} must be of one float type")
    if mode not in MODES or (mode == "bicubic" and n == 3):
        raise ValueError(f'{name}: mode is {mode!r}, expected "bilinear", "nearest", or for images "bicubic"')
    if padding_mode not in PADDING_MODES:
        raise ValueError(f'{name}: padding_mode is {padding_mode!r}, expected "zeros", "border" or "reflection"')


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """x (batch, channels, *size) at the points of grid (batch, *out size, dims): (batch, channels, *out size).

    Points count width first and reach from -1 to 1: centres of the outer elements with align_corners, their edges without it. Beyond
    them are zeros, the nearest element ("border") or x mirrored ("reflection"). "bilinear" weighs the elements around a point (in
    volumes too), "bicubic" those of 4 x 4 (images only), "nearest" takes one.
    """
    return sampled("grid_sample", x, grid, mode, padding_mode, bool(align_corners))


def sampled(name, x, grid, mode, padding_mode, align_corners):
    check_sample(name, x, grid, mode, padding_mode)
    dtype = x.dtype
    if dtype.itemsize == 2:
        x, grid = elementwise.cast(x, dtype=float32), elementwise.cast(grid, dtype=float32)
    batch, channels, *size = x.shape
    points = num_elements(grid.shape[1:-1])
    flat = reshape(x, shape=(batch, channels, num_elements(size)))
    out_size = grid.shape[1:-1]
    grid = reshape(grid, shape=(batch, points, len(size)))
    # Coordinates stand in the opposite order of the dims of size.
    sides = [taps(grid[..., len(size) - 1 - d], n, mode, padding_mode, align_corners) for d, n in enumerate(size)]
    out = 0.0
    for corner in product(*sides):
        place, exists, weight = 0, None, None
        for (p, ok, w), n in zip(corner, size, strict=True):
            place = elementwise.cast(p, dtype=int64) + place * n
            exists = ok if exists is None else binary.logical_and(exists, ok)
            weight = w if weight is None else weight * w
        ids = elementwise.where(exists, place, -1)
        value = pick(flat, reshape(ids, shape=(batch, 1, points)))
        if weight is not None:  # where no element is, nothing is added, whatever the weight: it may be NaN
            weight = elementwise.where(exists, weight, 0.0)
            value = value * reshape(weight, shape=(batch, 1, points))
        out = value + out
    return elementwise.cast(reshape(out, shape=(batch, channels, *out_size)), dtype=dtype)


def affine_grid(theta, size, align_corners=None):
    """The points that affine maps theta (batch, dims, dims + 1) send the elements of an image or volume of `size` to.

    `size` is (batch, channels, *size) of 2 or 3 dims; the result (batch, *size, dims) is a grid for grid_sample.
    """
    size = as_shape("affine_grid", tuple(size))
    n = len(size) - 2
    if n not in (2, 3) or theta.shape != (size[0], n, n + 1) or CATEGORIES[theta.dtype] != 2:
        raise ValueError(
            f"affine_grid: theta {theta.spec} must be floats (batch, 2, 3) for a size {size} of 4 dims, (batch, 3, 4) of 5"
        )
    if any(s < 1 for s in size):
        raise ValueError(f"affine_grid: size {size} must be above 0")
    axes = []
    for s in size[2:]:
        steps = np.linspace(-1, 1, s) if s > 1 else np.zeros(1)
        axes.append(steps if align_corners else steps * (s - 1) / s)
    points = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(size[2:])], -1)
    base = from_numpy(points.reshape(1, -1, n + 1).astype(theta.dtype))
    base = expand(base, shape=(size[0], *base.shape[1:]))
    return reshape(matmul(base, transpose(theta, dim0=1, dim1=2)), shape=(size[0], *size[2:], n))


def sampler(num_dims):
    """grid_sampler_2d or grid_sampler_3d: grid_sample with its modes as numbers."""
    name = f"grid_sampler_{num_dims}d"

    def function(input, grid, interpolation_mode, padding_mode, align_corners):
        if input.ndim != num_dims + 2:
            raise ValueError(f"{name}: input {input.spec} must have {num_dims + 2} dims")
        return by_number(name, input, grid, interpolation_mode, padding_mode, align_corners)

    function.__name__ = name
    function.__doc__ = f"grid_sample of {num_dims} dims: modes 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2 reflection."
    return function


def by_number(name, x, grid, mode, padding_mode, align_corners):
    if mode not in range(3) or padding_mode not in range(3):
        raise ValueError(f"{name}: mode {mode!r} and padding mode {padding_mode!r} must be 0, 1 or 2")
    return sampled(name, x, grid, MODES[mode], PADDING_MODES[padding_mode], bool(align_corners))


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sample with its modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2 reflection."""
    return by_number("grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners)


grid_sampler_2d, grid_sampler_3d = sampler(2), sampler(3)
affine_grid_generator = affine_grid

__all__ = ["affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]
