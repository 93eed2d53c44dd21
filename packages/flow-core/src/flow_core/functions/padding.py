"""Padding: tensors with more elements at the ends of their dims, or fewer."""

import numpy as np

from flow_core.dtype import CATEGORIES
from flow_core.functions.shapes import along
from flow_core.ops import elementwise
from flow_core.ops.index import slice_backward
from flow_core.ops.shape import transpose
from flow_core.ops.window import pick
from flow_core.tensor import from_numpy


def as_pads(name, x, pad):
    """{dim: (low, high)} of x's last dims, last first, from `pad`: low and high of the last dim, of the one before, and so on."""
    pad = tuple(pad) if isinstance(pad, (tuple, list)) else (pad,)
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ValueError(
            f"{name}: pad {pad} is not a pair for each of the last dims of {x.spec}, at most {x.ndim} pairs"
        )
    for n in pad:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{name}: pad {pad} holds {n!r}, expected ints")
    pad = [n.__index__() for n in pad]
    return {x.ndim - 1 - i: (pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)}


def checked_pads(name, x, pad):
    """as_pads; ValueError for what would cut more elements than a dim has."""
    pads = as_pads(name, x, pad)
    for dim, (low, high) in pads.items():
        if x.shape[dim] + min(low, 0) + min(high, 0) < 0:
            raise ValueError(f"{name}: pad ({low}, {high}) takes more than the {x.shape[dim]} elements of dim {dim}")
    return pads


def cut(x, pads):
    """x without what negative pads take away. A view."""
    for dim, (low, high) in pads.items():
        if low < 0 or high < 0:
            start = min(max(-low, 0), x.shape[dim])
            x = along(x, dim, slice(start, max(x.shape[dim] - max(-high, 0), start)))
    return x


def as_element(value, dtype):
    """A Python number of the category of `dtype`."""
    return (bool, int, float, complex)[CATEGORIES[dtype]](value)


def constant_pad_nd(x, pad, value=0):
    """x with pad[0] elements of `value` before those of its last dim and pad[1] after, pad[2] and pad[3] for the dim before, and so on.

    Negative pads cut. Of x's dtype. ValueError for cuts of more elements than there are.
    """
    pads = checked_pads("constant_pad_nd", x, pad)
    x = cut(x, pads)
    pads = {d: (max(low, 0), max(high, 0)) for d, (low, high) in pads.items()}
    if not any(n for ends in pads.values() for n in ends):
        return elementwise.cast(x, dtype=x.dtype)
    ends = [pads.get(d, (0, 0)) for d in range(x.ndim)]
    shape = tuple([n + low + high for n, (low, high) in zip(x.shape, ends, strict=True)])
    index = tuple([("slice", low, low + n, 1) for n, (low, _) in zip(x.shape, ends, strict=True)])
    out = slice_backward(x, index=index, shape=shape)
    value = as_element(value, x.dtype)
    if value == 0:
        return out
    inside = np.zeros(shape, bool)
    inside[tuple([slice(*i[1:]) for i in index])] = True
    return elementwise.where(from_numpy(inside), out, value)


def reflected(t, n):
    """Places beyond the ends mirrored at the first and the last element."""
    return np.where(t < 0, -t, np.where(t >= n, 2 * (n - 1) - t, t))


def replicated(t, n):
    """Places beyond the ends as the nearest element's."""
    return np.clip(t, 0, n - 1)


def check_mode(x, mode, pads):
    """ValueError unless a mode other than "constant" can pad x so."""
    if not 1 <= len(pads) <= 3 or x.ndim not in (len(pads) + 1, len(pads) + 2):
        raise ValueError(
            f'pad: mode "{mode}" pads the last 1, 2 or 3 dims of a tensor of one or two dims more, not {len(pads)} of {x.spec}'
        )
    for dim, (low, high) in pads.items():
        n = x.shape[dim]
        if mode == "reflect" and (low >= n or high >= n):
            raise ValueError(f"pad: to reflect, pad ({low}, {high}) must be less than the {n} elements of dim {dim}")
        left = n + min(low, 0) + min(high, 0)  # what negative pads leave to wrap
        if mode == "circular" and (low > left or high > left):
            raise ValueError(
                f"pad: pad ({low}, {high}) would wrap around the {left} elements that it leaves of dim {dim} more than once"
            )
        if n + low + high < 0 or (mode == "circular" and left < 0):
            raise ValueError(f"pad: pad ({low}, {high}) leaves nothing of the {n} elements of dim {dim}")
    if mode != "circular" and all(x.shape[dim] + low + high < 1 for dim, (low, high) in pads.items()):
        raise ValueError(f"pad: pads {tuple(pads.values())} leave nothing of {x.spec}")
    if any(n == 0 for n in x.shape[x.ndim - len(pads) - 1 :]):
        raise ValueError(f"pad: {x.spec} has an empty dim other than the first")


def pad(x, pad, mode="constant", value=None):
    """x with its last dims padded: (low, high) of the last dim, then of the one before, and so on; negative pads cut.

    `mode` is "constant" (any number of dims, `value` or 0), "reflect" (without the edge), "replicate" (the edge again) or "circular"
    (from the other end), the last three for the last 1 to 3 dims of a tensor that has one or two dims more.
    """
    if mode == "constant":
        return constant_pad_nd(x, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise ValueError(f'pad: mode is {mode!r}, expected "constant", "reflect", "replicate" or "circular"')
    if value is not None and value != 0:
        raise ValueError(f'pad: mode "{mode}" takes no value, given {value!r}')
    pads = as_pads("pad", x, pad)
    check_mode(x, mode, pads)
    for dim, (low, high) in pads.items():
        if not low and not high:
            continue
        if mode == "circular":
            x = cut(x, {dim: (low, high)})
            low, high = max(low, 0), max(high, 0)
            if not low + high:
                continue
        n = x.shape[dim]
        t = np.arange(-low, n + high)
        ids = t % n if mode == "circular" else (reflected if mode == "reflect" else replicated)(t, n)
        x = pick_along(x, dim, ids)
    return x


def pick_along(x, dim, ids):
    """The elements of x along `dim` at `ids`, an array of ints; zeros for -1."""
    if dim == x.ndim - 1:
        return pick(x, from_numpy(ids))
    return transpose(pick(transpose(x, dim0=dim, dim1=-1), from_numpy(ids)), dim0=dim, dim1=-1)


__all__ = ["constant_pad_nd"]
