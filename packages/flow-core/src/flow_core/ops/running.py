"""Ops that keep something while they walk along one dim: running products and extremes, running sums of exponentials, the mode."""

import numpy as np

from flow_core.dtype import CATEGORIES, float32, int64
from flow_core.op import Checked, define
from flow_core.ops.reduce import sum_dtype
from flow_core.spec import as_dim


def require_order(name, x):
    """TypeError for complex numbers."""
    if CATEGORIES[x.dtype] == 3:
        raise TypeError(f"{name}: {x} holds complex numbers, which have no order")


def cumprod_kernel(x, /, *, dim):
    out = sum_dtype(x.dtype)
    wide = float32 if CATEGORIES[out] == 2 and out.itemsize == 2 else out

    def run(a):
        if not a.ndim:
            return a.astype(out)
        with np.errstate(all="ignore"):
            return np.asarray(np.cumprod(a, axis=dim, dtype=wide), out)

    return run


@define(cumprod_kernel)
def cumprod(x, /, *, dim):
    """The products of the elements up to each place along `dim`. Integers and bools give int64; 16-bit floats multiply in float32."""
    return Checked(x.with_dtype(sum_dtype(x.dtype)), {"dim": as_dim("cumprod", dim, x.ndim)})


def extreme_so_far_kernel(x, /, *, dim, largest):
    accumulate = (np.maximum if largest else np.minimum).accumulate

    def run(a):
        if not a.size or not a.ndim:
            return np.zeros(a.shape, np.int64)
        with np.errstate(all="ignore"):
            best = accumulate(a, axis=dim)
            new = (a == best) | (a != a)  # once NaN is met it stays, and only another one replaces it
        places = np.arange(a.shape[dim]).reshape([-1 if d == dim else 1 for d in range(a.ndim)])
        return np.maximum.accumulate(np.where(new, places, 0), axis=dim)

    return run


@define(extreme_so_far_kernel)
def extreme_so_far(x, /, *, dim, largest):
    """The int64 places along `dim` of the largest (or smallest) element up to each place; the last of equal ones; NaN before all."""
    require_order("extreme_so_far", x)
    return Checked(x.with_dtype(int64), {"dim": as_dim("extreme_so_far", dim, x.ndim), "largest": bool(largest)})


def add_exponents(x, y):
    """log(exp(x) + exp(y)) for complex x and y, from the one whose real part is larger."""
    swap = ~(x.real >= y.real)
    high, low = np.where(swap, y, x), np.where(swap, x, y)
    out = high + np.log1p(np.exp(low - high))
    return np.where(np.isneginf(high.real), high, out)


def accumulated_exponents(a, dim):
    """The running log sum exp in float64, for each step rounds at the size of the exponent."""
    return np.logaddexp.accumulate(a, axis=dim, dtype=np.float64)


def logcumsumexp_kernel(x, /, *, dim):
    def run(a):
        if not a.ndim:
            return np.array(a)
        with np.errstate(all="ignore"):
            if a.dtype.kind != "c":
                return np.asarray(accumulated_exponents(a, dim), x.dtype)
            out = np.array(a)
            rows = np.moveaxis(out, dim, 0)
            for i in range(1, len(rows)):
                rows[i] = add_exponents(rows[i - 1], rows[i])
            return out

    return run


@define(logcumsumexp_kernel)
def logcumsumexp(x, /, *, dim):
    """log of the sums of exp(x) up to each place along `dim`, without overflow on the way. TypeError for integers."""
    if CATEGORIES[x.dtype] < 2:
        raise TypeError(f"logcumsumexp: {x} holds integers; cast it to a float type first")
    return Checked(x, {"dim": as_dim("logcumsumexp", dim, x.ndim)})


def logcumsumexp_backward_kernel(g, x, out, /, *, dim):
    wide = float32 if x.dtype.itemsize == 2 else x.dtype

    def later(logs):
        """log of the sums of exp(logs) from each place on."""
        return np.flip(accumulated_exponents(np.flip(logs, dim), dim), dim).astype(wide)

    def run(g, a, out):
        if not a.ndim:
            return np.array(g)
        g, a, out = (t.astype(wide, copy=False) for t in (g, a, out))
        with np.errstate(all="ignore"):
            logs, least = np.log(np.abs(g)), np.finfo(wide).min
            parts = [np.exp(later(np.where(side, logs, least) - out) + a) for side in (g > 0, g < 0)]
            return np.asarray(parts[0] - parts[1], x.dtype)

    return run


@define(logcumsumexp_backward_kernel, linear=(0,))
def logcumsumexp_backward(g, x, out, /, *, dim):
    """The gradient of logcumsumexp: at each place the sum over later ones j of g_j exp(x - out_j), the two signs of g by logarithms."""
    if not g.shape == x.shape == out.shape:
        raise ValueError(f"logcumsumexp_backward: {g}, {x} and {out} must have one shape")
    if any(CATEGORIES[t.dtype] != 2 for t in (g, x, out)):
        raise TypeError(f"logcumsumexp_backward: {g}, {x} and {out} must hold floats")
    return Checked(x, {"dim": as_dim("logcumsumexp_backward", dim, x.ndim)})


def mode_place_kernel(x, /, *, dim):
    def run(a):
        if not a.ndim:
            return np.zeros((), np.int64)
        a = np.moveaxis(a, dim, -1)
        order = np.argsort(a, axis=-1, kind="stable")
        inorder = np.take_along_axis(a, order, -1)
        places = np.arange(a.shape[-1])
        starts = np.zeros(a.shape, np.int64)
        starts[..., 1:] = np.where(inorder[..., 1:] != inorder[..., :-1], places[1:], 0)
        length = places - np.maximum.accumulate(starts, axis=-1)
        # The longest run is longest at its end; of equally long ones the first has the smallest value.
        best = np.argmax(length, axis=-1)[..., None] if a.size else np.zeros((*a.shape[:-1], 1), np.int64)
        return np.take_along_axis(order, best, -1)[..., 0]

    return run


@define(mode_place_kernel)
def mode_place(x, /, *, dim):
    """The int64 places along `dim` of the element that occurs most often, the smallest of several, its last place.

    The dim is gone from the output. ValueError if it has no elements.
    """
    require_order("mode_place", x)
    dim = as_dim("mode_place", dim, x.ndim)
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    if x.ndim and not x.shape[dim]:
        raise ValueError(f"mode_place: {x} has no elements in dim {dim}")
    return Checked(x.with_shape(shape).with_dtype(int64), {"dim": dim})
