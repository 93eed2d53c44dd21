"""Ops that read and write the places that index tensors name, along several dims at once or along one.

Where numpy's rule and PyTorch's agree they are the rule: the dims of the (broadcast) indices stand where the dims they index stood if
those are neighbours, and in front otherwise.
"""

import numpy as np

from flow_core.dtype import CATEGORIES, float32
from flow_core.op import Checked, InPlaceOp, define
from flow_core.ops.along import check_index, check_places, grid_along
from flow_core.ops.index import summed_rows
from flow_core.spec import as_dim, as_shape, broadcast_shapes, num_elements


def accumulator(dtype):
    """The dtype in which elements of `dtype` are combined: float32 for 16-bit floats."""
    return float32 if CATEGORIES[dtype] == 2 and dtype.itemsize == 2 else dtype


def as_places(name, shape, ids, dims):
    """(dims as a rising tuple, shape of the broadcast indices); errors unless `ids` can index those dims of a tensor of `shape`."""
    dims = as_shape(name, dims)
    if not ids or len(dims) != len(ids) or list(dims) != sorted({*dims}) or dims[-1] >= len(shape):
        raise ValueError(
            f"{name}: dims {dims} must be rising, one for each of {len(ids)} indices, below {len(shape)} dims"
        )
    for i in ids:
        if CATEGORIES[i.dtype] != 1:
            raise TypeError(f"{name}: indices are {i}, expected an integer type")
    return dims, broadcast_shapes(name, *[i.shape for i in ids])


def start_of(dims):
    """The dim of the result at which the indices' dims begin."""
    return dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0


def landing(shape, dims, places):
    """The shape of x[ids] for x of `shape`, and indices of the broadcast shape `places` in `dims`."""
    rest = [n for d, n in enumerate(shape) if d not in dims]
    at = start_of(dims)
    return (*rest[:at], *places, *rest[at:])


def selector(name, shape, dims, ids):
    """The index arrays as numpy takes them; IndexError for one that is not in [-size, size) of its dim.

    They are laid out in row-major order, in which numpy then goes through them: which of the values for one place stays depends on it.
    """
    out = [slice(None)] * len(shape)
    for d, i in zip(dims, ids, strict=True):
        if i.size and (i.min() < -shape[d] or i.max() >= shape[d]):
            bad = i[(i < -shape[d]) | (i >= shape[d])].flat[0]
            raise IndexError(f"{name}: index {bad} is out of range for dim {d} of size {shape[d]}")
        out[d] = np.asarray(i, np.intp, order="C")
    return tuple(out)


def at_kernel(x, /, *ids, dims):
    is_copy = any(i.shape for i in ids)  # numpy takes indices without dims for ints, and returns a view

    def run(a, *ids):
        out = a[selector("at", x.shape, dims, ids)]
        return out if is_copy else np.array(out)

    return run


@define(at_kernel, linear=(0,))
def at(x, /, *ids, dims):
    """x's elements where `ids` (integers that broadcast) name places in `dims`, negative ones from the end; all of the other dims. A copy.

    IndexError for an index out of range.
    """
    dims, places = as_places("at", x.shape, ids, dims)
    return Checked(x.with_shape(landing(x.shape, dims, places)), {"dims": dims})


def add_to_kernel(g, /, *ids, dims, shape):
    wide = accumulator(g.dtype)
    start, places = start_of(dims), broadcast_shapes("add_to", *[i.shape for i in ids])
    sizes, rest = [shape[d] for d in dims], [n for d, n in enumerate(shape) if d not in dims]

    def run(a, *ids):
        chosen, flat = selector("add_to", shape, dims, ids), 0
        for d in dims:
            flat = flat * shape[d] + np.where(chosen[d] < 0, chosen[d] + shape[d], chosen[d])
        flat = np.broadcast_to(flat, places).reshape(-1)
        front = np.moveaxis(a, range(start, start + len(places)), range(len(places)))
        rows = front.reshape(flat.size, num_elements(rest)).astype(wide, copy=False)
        out = summed_rows(rows, flat, num_elements(sizes)).reshape(*sizes, *rest)
        return np.moveaxis(out, range(len(dims)), dims).astype(g.dtype, order="C", copy=False)

    return run


@define(add_to_kernel, linear=(0,))
def add_to(g, /, *ids, dims, shape):
    """Zeros of `shape` with g added up at the places that `ids` name in `dims`: the adjoint of `at`.

    g has the shape that `at` gives. 16-bit floats are added in float32. IndexError for an index out of range.
    """
    shape = as_shape("add_to", shape)
    dims, places = as_places("add_to", shape, ids, dims)
    if g.shape != landing(shape, dims, places):
        raise ValueError(
            f"add_to: {g} must have the shape {landing(shape, dims, places)} of what the indices name in shape {shape}"
        )
    return Checked(g.with_shape(shape), {"dims": dims, "shape": shape})


def check_values(name, x, src, ids, dims):
    """The dims in normal form; errors unless src (of x's dtype) broadcasts to what the indices name in x."""
    dims, places = as_places(name, x.shape, ids, dims)
    wanted = landing(x.shape, dims, places)
    if src.dtype is not x.dtype:
        raise TypeError(f"{name}: values {src} must have the dtype of {x}")
    if broadcast_shapes(name, wanted, src.shape) != wanted:
        raise ValueError(f"{name}: values {src} do not broadcast to the shape {wanted} of what the indices name in {x}")
    return dims


def put_at_kernel(x, src, /, *ids, dims):
    def run(a, b, *ids):
        chosen = selector("put_at", x.shape, dims, ids)
        out = np.array(a)
        out[chosen] = np.asarray(b, order="C")
        return out

    return run


@define(put_at_kernel, linear=((0, 1),))
def put_at(x, src, /, *ids, dims):
    """A copy of x with src at the places that `ids` name in `dims`, as in `at`; src broadcasts. Of equal places the last value stays."""
    return Checked(x, {"dims": check_values("put_at", x, src, ids, dims)})


def put_at_in_place_kernel(x, src, /, *ids, dims):
    def run(a, b, *ids):
        a[selector("put_at_", x.shape, dims, ids)] = np.asarray(b, order="C")
        return ()

    return run


def put_into(x, src, /, *ids, dims):
    """Overwrites x with src at the places that `ids` name in `dims`, as put_at; nothing is written if an index is out of range."""
    return Checked((), {"dims": check_values("put_at_", x, src, ids, dims)})


put_at_ = InPlaceOp("put_at_", put_into, {"cpu": put_at_in_place_kernel}, lambda specs: 1)


def check_along(name, x, src, index, dim):
    """The dim from the front; errors unless src is like x and of index's shape, and index can name places along the dim."""
    dim = as_dim(name, dim, x.ndim)
    check_index(name, index, x.shape, dim)
    if src.dtype is not x.dtype:
        raise TypeError(f"{name}: source {src} must have the dtype of {x}")
    if src.shape != index.shape:
        raise ValueError(f"{name}: source {src} must have the shape of index {index}")
    return dim


def written_along(a, index, dim):
    """(a copy of a, of one dim at least, and the index of it that names the places)."""
    out = np.array(a if a.ndim else a.reshape(1))
    return out, grid_along(index if index.ndim else index.reshape(1), dim)


def put_along_kernel(x, src, index, /, *, dim):
    def run(a, b, i):
        check_places("put_along", i, x.shape[dim] if x.ndim else 1)
        out, where = written_along(a, i, dim)
        out[where] = b
        return out.reshape(x.shape)

    return run


@define(put_along_kernel, linear=((0, 1),))
def put_along(x, src, index, /, *, dim):
    """A copy of x with each element of src at the place along `dim` that `index` (int64, of src's shape) names; the last one stays.

    Index may be smaller than x in the other dims. IndexError for an index out of range.
    """
    return Checked(x, {"dim": check_along("put_along", x, src, index, dim)})


COMBINE = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def combine_along_kernel(x, src, index, /, *, dim, reduce):
    wide = accumulator(x.dtype)

    def run(a, b, i):
        check_places("combine_along", i, x.shape[dim] if x.ndim else 1)
        out, where = written_along(a.astype(wide, copy=False), i, dim)
        with np.errstate(all="ignore"):
            COMBINE[reduce].at(out, where, b.astype(wide, copy=False))
        return out.reshape(x.shape).astype(x.dtype, copy=False)

    return run


@define(combine_along_kernel)
def combine_along(x, src, index, /, *, dim, reduce):
    """x with the elements of src multiplied in ("prod"), or the larger or smaller kept ("amax", "amin"), where `index` names them.

    As put_along but that all that come to one place count, beside what x has there. NaN wins. IndexError for an index out of range.
    """
    dim = check_along("combine_along", x, src, index, dim)
    if reduce not in COMBINE:
        raise ValueError(f"combine_along: reduce is {reduce!r}, expected one of {', '.join(COMBINE)}")
    if CATEGORIES[x.dtype] == 3 and reduce != "prod":
        raise TypeError(f"combine_along: {x} holds complex numbers, which have no order")
    return Checked(x, {"dim": dim, "reduce": reduce})
