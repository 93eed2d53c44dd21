"""The rows of CALLS for ops that read and write the places which index tensors name."""

import numpy as np

from flow_core.dtype import int32, int64, uint8
from flow_core.ops.scatter import landing
from flow_core.testing.along import places as places_along
from flow_core.testing.draw import BOOL, COMPLEX, FLOAT, INT


def indexed(d):
    """(a shape, dims of it, indices that broadcast, their broadcast shape)."""
    shape = d.shape(min_dims=1)
    dims = tuple(i for i in range(len(shape)) if d.flag()) or (d.integer(0, len(shape) - 1),)
    wide = d.shape(max_dims=2)
    if any(shape[i] == 0 for i in dims):
        wide = (*wide, 0)
    given = [d.narrowed(wide) for _ in dims]
    if any(shape[i] == 0 for i in dims):  # where there is nothing to name every index is empty
        given = [wide] * len(dims)
    dtype = d.one_of(int64, int32, uint8)
    ids = [np.asarray(d.values(s, dtype, -shape[i], shape[i] - 1), dtype) for s, i in zip(given, dims, strict=True)]
    return shape, dims, ids, np.broadcast_shapes(*[i.shape for i in ids])


def at(d):
    shape, dims, ids, _ = indexed(d)
    return [d.array(shape, d.dtype(BOOL, INT, FLOAT, COMPLEX)), *ids], {"dims": dims}


def add_to(d):
    shape, dims, ids, wide = indexed(d)
    return [d.array(landing(shape, dims, wide), d.dtype(INT, FLOAT)), *ids], {"dims": dims, "shape": shape}


def put_at(d):
    shape, dims, ids, wide = indexed(d)
    dtype = d.dtype(BOOL, INT, FLOAT)
    return [d.array(shape, dtype), d.array(d.narrowed(landing(shape, dims, wide)), dtype), *ids], {"dims": dims}


def along(**attrs):
    def row(d):
        shape = d.shape()
        dim, dtype = d.dim(len(shape)), d.dtype(INT, FLOAT)
        index = places_along(d, shape, dim)
        drawn = {name: d.one_of(*values) for name, values in attrs.items()}
        return [d.array(shape, dtype), d.array(index.shape, dtype), index], {"dim": dim, **drawn}

    return row


SCATTERS = {
    "at": at,
    "add_to": add_to,
    "put_at": put_at,
    "put_at_": put_at,
    "put_along": along(),
    "combine_along": along(reduce=("prod", "amax", "amin")),
}
