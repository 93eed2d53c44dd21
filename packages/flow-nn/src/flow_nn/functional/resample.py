"""Resampling: images and volumes in another size, and at given points."""

import math

import numpy as np

import flow_core as flow
from flow_core.functions.padding import pick_along
from flow_core.functions.sampling import affine_grid, cubic_weights, grid_sample
from flow_nn.functional.adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from flow_nn.functional.geometry import as_type, widened

DIMS = {
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
}  # the modes that weigh elements, and how many dims they take
TAKING = ("nearest", "nearest-exact", "area")


def scaled(step, i, align_corners):
    """Where output place i lies between input places, `step` of which lie between two of the output's."""
    return step * i if align_corners else step * (i + 0.5) - 0.5


def linear_taps(size, out, step, align_corners, dtype):
    """(places, weights), each (taps, out)."""
    at = np.maximum(scaled(step, np.arange(out, dtype=dtype), align_corners), 0)
    first = np.minimum(np.floor(at).astype(np.int64), size - 1)
    t = np.clip(at - first, 0, 1)
    return np.stack([first, np.minimum(first + 1, size - 1)]), np.stack([1 - t, t])


def cubic_taps(size, out, step, align_corners, dtype):
    """(places, weights), each (taps, out)."""
    at = scaled(step, np.arange(out, dtype=dtype), align_corners)
    first = np.floor(at)
    places = first.astype(np.int64) + np.arange(-1, 3)[:, None]
    return np.clip(places, 0, size - 1), np.stack(cubic_weights(at - first))


def triangle(d):
    return np.maximum(1 - np.abs(d), 0)


def cubic(d, a=-0.5):
    """Keys's kernel."""
    d = np.abs(d)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d < 1, near, np.where(d < 2, far, 0))


def smoothed_taps(size, out, step, kernel, reach, dtype):
    """(places, weights), each (taps, out), of a kernel stretched to `step` where the output is smaller, so that nothing aliases."""
    stretch = max(step, 1)
    centre = step * (np.arange(out) + 0.5)
    start = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
    stop = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), size)
    places = start + np.arange((stop - start).max())[:, None]
    weights = np.where(places < stop, kernel((places - centre + 0.5) / stretch), 0)
    return np.where(places < stop, places, -1), (weights / weights.sum(0)).astype(dtype)


def nearest_places(size, out, step, exact):
    """The input place of each output place; in float32, whatever the tensor's dtype."""
    i = np.arange(out, dtype=np.float32)
    at = np.float32(step) * (i + np.float32(0.5)) if exact else np.float32(step) * i
    return np.minimum(np.floor(at).astype(np.int64), size - 1)


def weighed_along(x, dim, places, weights):
    """The sum over taps of weights times the elements of x along `dim` at places, each (taps, out)."""
    total = None
    for ids, w in zip(places, weights, strict=True):
        w = flow.from_numpy(np.asarray(w, x.dtype).reshape(-1, *[1] * (x.ndim - dim - 1)))
        term = pick_along(x, dim, np.ascontiguousarray(ids)) * w
        total = term if total is None else total + term
    return total


def target(x, size, scale_factor, recompute):
    """(the output's size, the scale factors that the coordinates are computed from, or Nones)."""
    n = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give one of size and scale_factor")
    given = size if scale_factor is None else scale_factor
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,) * n
    if len(given) != n:
        raise ValueError(f"interpolate: {given} has {len(given)} entries, and input {x.spec} has {n} dims of size")
    if scale_factor is None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor goes with scale_factor, not with size")
        if any(isinstance(s, bool) or not hasattr(s, "__index__") for s in given):
            raise TypeError(f"interpolate: size {given} must be ints")
        given, scales = tuple([s.__index__() for s in given]), (None,) * n
    else:
        scales = tuple([float(s) for s in given])
        given = tuple([math.floor(float(s) * f) for s, f in zip(x.shape[2:], scales, strict=True)])
        scales = (None,) * n if recompute else scales
    if any(s < 1 for s in given) or 0 in x.shape[1:]:
        raise ValueError(f"interpolate: input {x.spec} in size {given}: sizes must be above 0")
    return given, scales


def step_between(size, out, scale, align_corners):
    """How many input places lie between two output places."""
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else size / out


def check_mode(x, mode, align_corners, antialias):
    if mode not in DIMS and mode not in TAKING:
        raise ValueError(f"interpolate: mode is {mode!r}, expected one of {', '.join([*TAKING, *DIMS])}")
    if x.ndim not in (3, 4, 5) or (mode in DIMS and x.ndim != DIMS[mode] + 2):
        raise ValueError(
            f'interpolate: mode "{mode}" does not take input {x.spec}, whose first two dims are batch and channels'
        )
    if mode in TAKING and align_corners is not None:
        raise ValueError(f'interpolate: align_corners goes with {", ".join(DIMS)}, not with mode "{mode}"')
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f'interpolate: antialias goes with bilinear and bicubic, not with mode "{mode}"')
    if x.dtype.kind not in ("fV" if mode in DIMS or mode == "area" else "fVu"):
        raise TypeError(f"interpolate: input {x.spec} is not of a float type; cast it first, as in x.to(flow.float32)")


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """input (batch, channels, *size) of 1 to 3 dims of size in another size, or in `scale_factor` times its own, rounded down.

    mode: "nearest" and "nearest-exact" (that of the output's centres) take an element, "linear", "bilinear", "trilinear" and
    "bicubic" weigh those around, "area" takes means. With align_corners the outer centres meet, otherwise the outer edges. Where
    scale_factor is given, coordinates are computed from it, or with recompute_scale_factor from the sizes. antialias (bilinear and
    bicubic) widens the kernel where the output is smaller.
    """
    check_mode(input, mode, align_corners, antialias)
    size, scales = target(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}[input.ndim](input, size)
    x = widened(input)
    for i, (out, scale) in enumerate(zip(size, scales, strict=True)):
        x = resampled(x, 2 + i, out, scale, mode, bool(align_corners), antialias)
    return as_type(x, input.dtype)


def resampled(x, dim, out, scale, mode, align_corners, antialias):
    """x with `out` elements along dim `dim`."""
    size = x.shape[dim]
    step = step_between(size, out, scale, align_corners)
    if mode in TAKING:
        return pick_along(x, dim, nearest_places(size, out, step, mode == "nearest-exact"))
    if size == out and (step == 1 or mode != "bicubic" or antialias):  # whatever scale_factor says, as PyTorch has it
        return x
    if antialias:
        kernel, reach = (triangle, 1) if mode == "bilinear" else (cubic, 2)
        return weighed_along(x, dim, *smoothed_taps(size, out, step, kernel, reach, x.dtype))
    taps = cubic_taps if mode == "bicubic" else linear_taps
    return weighed_along(x, dim, *taps(size, out, np.asarray(step, x.dtype), align_corners, x.dtype))


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate by its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate of mode "nearest"."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate of mode "bilinear" in which the outer centres meet."""
    return interpolate(input, size, scale_factor, "bilinear", True)


__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]
