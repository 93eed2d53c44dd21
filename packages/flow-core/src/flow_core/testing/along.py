"""The rows of CALLS for ops along one dim."""

import numpy as np

from flow_core.dtype import int64
from flow_core.testing.draw import BOOL, COMPLEX, FLOAT, INT


def cumsum(d):
    x = d.array(d.shape(), d.dtype(BOOL, INT, FLOAT, COMPLEX))
    return [x], {"dim": d.dim(x.ndim)}


def argsort(d):
    x = d.array(d.shape(), d.dtype(BOOL, INT, FLOAT))
    return [x], {"dim": d.dim(x.ndim), "descending": d.flag()}


def places(d, whole, dim):
    """An index into a tensor of shape `whole` along `dim`, in the other dims as large or smaller."""
    at = dim % max(len(whole), 1)
    shape = [d.integer(0, 3) if i == at else d.integer(0, n) if d.flag() else n for i, n in enumerate(whole)]
    size = whole[at] if whole else 1
    if size == 0 and shape:
        shape[at] = 0
    return np.asarray(d.values(tuple(shape), int64, 0, max(size - 1, 0)), np.int64)


def gather(d):
    shape = d.shape()
    dim = d.dim(len(shape))
    return [d.array(shape, d.dtype(INT, FLOAT)), places(d, shape, dim)], {"dim": dim}


def add_along(d):
    shape = d.shape()
    dim = d.dim(len(shape))
    index = places(d, shape, dim)
    return [d.array(index.shape, d.dtype(INT, FLOAT)), index], {"dim": dim, "shape": shape}


ALONG = {"cumsum": cumsum, "argsort": argsort, "gather": gather, "add_along": add_along}
