"""Sums over windows, dim by dim: a box is the product of its sides, so a window of k x k takes 2 k additions and not k k."""

import numpy as np

from flow_core.dtype import CATEGORIES, float32
from flow_core.op import Checked, define
from flow_core.ops.conv import pads
from flow_core.ops.reduce import sum_dtype
from flow_core.ops.window import check_windows, every, window_attrs
from flow_core.spec import as_shape


def wide_type(dtype):
    """The type in which sums of `dtype` are taken: float32 for 16-bit floats."""
    return float32 if CATEGORIES[dtype] == 2 and dtype.itemsize == 2 else dtype


def window_sum_kernel(x, /, *, kernel, stride, padding, dilation):
    out = sum_dtype(x.dtype)
    wide, lead = wide_type(out), x.ndim - len(kernel)
    places = window_attrs("window_sum", x.shape[lead:], kernel, stride, padding, dilation)[1]

    def run(a):
        a = pads(a.astype(wide, copy=False), padding)
        for dim, (k, s, d, t) in enumerate(zip(kernel, stride, dilation, places, strict=True), lead):
            total = every(a, dim, 0, t, s)
            if k > 1:
                total = total + every(a, dim, d, t, s)
            for i in range(2, k):
                total += every(a, dim, i * d, t, s)
            a = total
        return np.array(a, out) if a.base is not None else np.asarray(a, out)

    return run


@define(window_sum_kernel, linear=(0,))
def window_sum(x, /, *, kernel, stride, padding, dilation):
    """The sum of each window of x's last dims, padded with zeros: (*lead, *places). Attributes as those of `windows`.

    Integers give int64; 16-bit floats are added in float32 and rounded once.
    """
    lead, places, attrs = check_windows("window_sum", x, kernel, stride, padding, dilation)
    if CATEGORIES[x.dtype] == 0:
        raise TypeError(f"window_sum: {x} holds bools; cast it to numbers first")
    return Checked(x.with_shape((*lead, *places)).with_dtype(sum_dtype(x.dtype)), attrs)


def spread_windows_kernel(g, /, *, size, kernel, stride, padding, dilation):
    wide, lead = wide_type(g.dtype), g.ndim - len(kernel)
    grown = [max(n + max(low, 0) + max(high, 0), 0) for n, (low, high) in zip(size, padding, strict=True)]

    def run(a):
        a = a.astype(wide, copy=False)
        for i, (n, k, s, d, (low, _)) in reversed(
            [*enumerate(zip(grown, kernel, stride, dilation, padding, strict=True))]
        ):
            dim, t = lead + i, a.shape[lead + i]
            out = np.zeros((*a.shape[:dim], n, *a.shape[dim + 1 :]), wide)
            for j in range(k):  # an input that was cut has its first window where the cut ends
                every(out, dim, max(-low, 0) + j * d, t, s)[...] += a
            a = out
        inner = [slice(max(low, 0), max(low, 0) + n) for n, (low, _) in zip(size, padding, strict=True)]
        return np.ascontiguousarray(a[(..., *inner)], g.dtype)

    return run


@define(spread_windows_kernel, linear=(0,))
def spread_windows(g, /, *, size, kernel, stride, padding, dilation):
    """The adjoint of `window_sum`: each element of g (*lead, *places) added to every element of its window in (*lead, *size)."""
    size, kernel = as_shape("spread_windows", size), as_shape("spread_windows", kernel)
    n = len(size)
    if CATEGORIES[g.dtype] == 0:
        raise TypeError(f"spread_windows: {g} holds bools; cast it to numbers first")
    if not n or len(kernel) != n or g.ndim < n:
        raise ValueError(f"spread_windows: {g}, size {size} and kernel {kernel} must have as many dims")
    attrs, places = window_attrs("spread_windows", size, kernel, stride, padding, dilation)
    if g.shape[g.ndim - n :] != places:
        raise ValueError(f"spread_windows: {g} does not hold the {places} windows of size {size}")
    return Checked(g.with_shape((*g.shape[: g.ndim - n], *size)), {"size": size, **attrs})
