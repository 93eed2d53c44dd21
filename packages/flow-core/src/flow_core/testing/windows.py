"""The rows of CALLS for convolutions, windows, and picking by place."""

import numpy as np

from flow_core.dtype import int32, int64
from flow_core.ops.conv import num_windows
from flow_core.testing.draw import BOOL, COMPLEX, FLOAT, INT


def geometry(d, num_dims):
    """(size, kernel, places, attributes) of windows that fit."""
    kernel, stride, dilation = (tuple(d.integer(1, high) for _ in range(num_dims)) for high in (2, 2, 2))
    padding = tuple((d.integer(-1, 1), d.integer(-1, 2)) for _ in range(num_dims))
    least = [
        max(dd * (k - 1) + 1 - low - high, max(-low, 0) + max(-high, 0), 1)
        for k, dd, (low, high) in zip(kernel, dilation, padding, strict=True)
    ]
    size = tuple(n + d.integer(0, 2) for n in least)
    places = tuple(num_windows(*dim) for dim in zip(size, kernel, stride, padding, dilation, strict=True))
    return size, kernel, places, {"stride": stride, "padding": padding, "dilation": dilation}


def convolution(kept):
    """Calls of conv (without its "output"), conv_input and conv_weight, on the other two of output, input and weight."""

    def row(d):
        groups, num_dims = d.integer(1, 2), d.integer(1, 2)
        size, kernel, places, attrs = geometry(d, num_dims)
        batch, outs, inner = d.integer(0, 2), groups * d.integer(1, 2), d.integer(1, 2)
        shapes = {
            "output": (batch, outs, *places),
            "input": (batch, inner * groups, *size),
            "weight": (outs, inner, *kernel),
        }
        size = {"output": {}, "input": {"size": size[:num_dims]}, "weight": {"size": kernel}}[kept]
        dtype = d.dtype(FLOAT)
        arrays = [d.array(shape, dtype) for name, shape in shapes.items() if name != kept]
        return arrays, {**size, **attrs, "groups": groups}

    return row


def windows(*categories):
    def row(d):
        size, kernel, _, attrs = geometry(d, d.integer(1, 2))
        return [d.array((*d.shape(max_dims=1), *size), d.dtype(*categories))], {"kernel": kernel, **attrs}

    return row


def add_windows(d):
    size, kernel, places, attrs = geometry(d, d.integer(1, 2))
    g = d.array((*d.shape(max_dims=1), *places, *kernel), d.dtype(INT, FLOAT))
    return [g], {"size": size, **attrs}


def spread_windows(d):
    size, kernel, places, attrs = geometry(d, d.integer(1, 2))
    g = d.array((*d.shape(max_dims=1), *places), d.dtype(INT, FLOAT))
    return [g], {"size": size, "kernel": kernel, **attrs}


def ids(d, lead, count):
    """Places below `count` or -1, of leading dims that broadcast to `lead`."""
    own = tuple(1 if d.integer(0, 2) == 0 else n for n in lead)[d.integer(0, len(lead)) :]
    return np.asarray(d.array((*own, d.integer(0, 4)), d.one_of(int64, int32), -1, count - 1))


def pick(d):
    x = d.array(d.shape(min_dims=1), d.dtype(BOOL, INT, FLOAT, COMPLEX))
    return [x, ids(d, x.shape[:-1], x.shape[-1])], {}


def place(d):
    lead, count = d.shape(max_dims=2), d.integer(0, 4)
    where = ids(d, lead, count)
    return [d.array((*lead, where.shape[-1]), d.dtype(INT, FLOAT)), where], {"n": count}


def put(d):
    """Places that do not repeat: what repeats has no derivative of its own."""
    lead, count = d.shape(max_dims=2), d.integer(0, 4)
    own = lead[d.integer(0, len(lead)) :]
    where = d.rng.random((*own, count)).argsort(-1)[..., : d.integer(0, count)]
    where = np.where(d.rng.random(where.shape) < 0.2, -1, where)
    return [d.array((*lead, where.shape[-1]), d.dtype(BOOL, INT, FLOAT, COMPLEX)), where], {"n": count}


WINDOWS = {
    "conv": convolution("output"),
    "conv_input": convolution("input"),
    "conv_weight": convolution("weight"),
    "windows": windows(BOOL, INT, FLOAT, COMPLEX),
    "add_windows": add_windows,
    "window_argmax": windows(INT, FLOAT),
    "pick": pick,
    "place": place,
    "put": put,
    "window_sum": windows(INT, FLOAT),
    "spread_windows": spread_windows,
}
