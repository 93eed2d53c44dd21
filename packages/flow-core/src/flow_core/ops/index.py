"""Taking and placing elements by position."""

import operator

import numpy as np

from flow_core.dtype import CATEGORIES, bool_
from flow_core.op import Checked, define
from flow_core.spec import TensorSpec, as_count, as_shape, num_elements


def slice_kernel(x, /, *, index):
    return lambda a: a[as_numpy_index(index)]


def as_numpy_index(index):
    """A normal-form index as numpy takes it: ("slice", start, stop, step) becomes a slice; the Ellipsis keeps a 0-d result an array."""
    return (*[slice(*i[1:]) if isinstance(i, tuple) else i for i in index], ...)


@define(slice_kernel, linear=(0,))
def slice_(x, /, *, index):
    """x[index] for ints, slices, None and ... in `index` (normal form: ints, None, and ("slice", start, stop, step)). A view."""
    shape, normal, dim = [], [], 0
    for i in as_items(index):
        if i is None:
            shape.append(1)
            normal.append(None)
            continue
        if dim >= x.ndim:
            raise IndexError(f"slice_: {x} has {x.ndim} dims, and the index names more")
        size = x.shape[dim]
        if isinstance(i, tuple):
            _, start, stop, step = i
            start, stop, step = slice(start, stop, step).indices(size)
            shape.append(len(range(start, stop, step)))
            if not shape[-1]:
                start, stop = 0, 0  # a start of -1, before the first element, would be read as the last one
            normal.append(("slice", start, None if stop < 0 else stop, step))
        else:
            if not -size <= i < size:
                raise IndexError(f"slice_: index {i} is out of range for dim {dim} of {x}")
            normal.append(i % size)
        dim += 1
    return Checked(x.with_shape([*shape, *x.shape[dim:]]), {"index": tuple(normal)})


def as_items(index):
    """The items of an index in the form that slice_ takes; TypeError for other forms."""
    for i in index if isinstance(index, tuple) else (index,):
        is_slice = isinstance(i, tuple) and i[:1] == ("slice",) and len(i) == 4 and i[3] != 0
        fits = isinstance(index, tuple) and all(b is None or type(b) is int for b in (i[1:] if is_slice else (i,)))
        if not fits:
            raise TypeError(
                f'slice_: index {index!r} is not a tuple of ints, None, and ("slice", start, stop, step) with step not 0'
            )
    return index


def slice_backward_kernel(g, /, *, index, shape):
    def run(a):
        out = np.zeros(shape, a.dtype)
        out[as_numpy_index(index)] = a
        return out

    return run


@define(slice_backward_kernel, linear=(0,))
def slice_backward(g, /, *, index, shape):
    """Zeros of `shape` with g at `index` (in slice's normal form): the gradient of slice."""
    shape = as_shape("slice_backward", shape)
    checked = slice_.infer(g.with_shape(shape), index=index)
    if checked.out is not g:
        raise ValueError(f"slice_backward: {g} does not fit the index, which takes {checked.out} from shape {shape}")
    return Checked(g.with_shape(shape), {"index": checked.attrs["index"], "shape": shape})


def normal_index(x, items):
    """The items of a basic index (ints, slices, None, ...) as slice_ takes them; None if there are items of other kinds."""
    out = []
    for i in items:
        kind = type(i)
        if kind is int or i is None:
            out.append(i)
        elif kind is slice:
            start, stop, step = i.start, i.stop, i.step
            out.append(("slice", as_bound(start), as_bound(stop), as_bound(step)))
            if out[-1][3] == 0:
                raise ValueError("slice step cannot be zero")
        elif i is Ellipsis:
            if any([j is Ellipsis for j in items[len(out) + 1 :]]):
                raise IndexError("an index can have one '...' only")
            rest = normal_index(x, items[len(out) + 1 :])
            if rest is None:
                return None
            num_dims = sum([j is not None for j in (*out, *rest)])
            return (*out, *[("slice", None, None, None)] * (x.ndim - num_dims), *rest)
        else:
            return None
    return tuple(out)


def as_bound(bound):
    """A bound of a slice as an int, or None."""
    return bound if bound is None or type(bound) is int else operator.index(bound)


def getitem(x, index):
    """x[index] for ints, slices, None and ... in the index: a view. TypeError for other kinds."""
    items = index if type(index) is tuple else (index,)
    normal = normal_index(x, items)
    if normal is None:
        raise TypeError(f"an index of {[type(i).__name__ for i in items]} is not basic: ints, slices, None and ... are")
    return slice_(x, index=normal)


def check_rows(name, ids, num_rows):
    """IndexError if an id is not in [0, num_rows)."""
    if ids.size and (ids.min() < 0 or ids.max() >= num_rows):
        bad = ids[(ids < 0) | (ids >= num_rows)].flat[0]
        raise IndexError(f"{name}: index {bad} is out of range for {num_rows} rows")


def take_rows_kernel(ids, weight, /):
    def run(i, w):
        check_rows("take_rows", i, w.shape[0])
        return np.asarray(np.take(w, i, axis=0))  # of one row of a vector numpy makes a scalar

    return run


@define(take_rows_kernel, linear=(1,))
def take_rows(ids, weight, /):
    """weight[ids]: the rows of weight (rows, *rest) that ids (integers in [0, rows), any shape) name; shape (*ids.shape, *rest).

    IndexError for an id out of range. The lookup of an embedding table.
    """
    if CATEGORIES[ids.dtype] != 1:
        raise TypeError(
            f"take_rows: indices are {ids}, expected an integer type"
            + (" (a mask of bools is not supported)" if ids.dtype is bool_ else "")
        )
    if weight.ndim == 0:
        raise ValueError("take_rows: a 0-d tensor has no rows")
    return TensorSpec(ids.shape + weight.shape[1:], weight.dtype, weight.device)


def summed_rows(rows, ids, num_rows):
    """An array of `num_rows` rows whose row r is the sum of those `rows` (n, size) where ids (n,) is r."""
    out = np.zeros((num_rows, rows.shape[1]), rows.dtype)
    if rows.shape[1] == 1:
        np.add.at(out[:, 0], ids, rows[:, 0])  # from first to last
    elif num_rows and rows.size:
        # Equal ids brought together in their order, so that each row is one sum from first to last: the same bits always.
        order = np.argsort(ids, kind="stable")
        names, starts = np.unique(ids[order], return_index=True)
        out[names] = np.add.reduceat(rows[order], starts, axis=0)
    return out


def add_rows_kernel(g, ids, /, *, num_rows):
    def run(a, i):
        check_rows("add_rows", i, num_rows)
        rest = a.shape[i.ndim :]
        rows = a.reshape(i.size, num_elements(rest))
        return summed_rows(rows, i.reshape(-1), num_rows).reshape(num_rows, *rest)

    return run


@define(add_rows_kernel, linear=(0,))
def add_rows(g, ids, /, *, num_rows):
    """A tensor of `num_rows` rows whose row r is the sum of those rows of g (*ids.shape, *rest) where ids is r: take_rows' gradient."""
    num_rows = as_count("add_rows", "num_rows", num_rows)
    if CATEGORIES[ids.dtype] != 1:
        raise TypeError(f"add_rows: indices are {ids}, expected an integer type")
    if g.shape[: ids.ndim] != ids.shape:
        raise ValueError(f"add_rows: {g} must begin with the dims of the indices, {ids}")
    return Checked(g.with_shape((num_rows, *g.shape[ids.ndim :])), {"num_rows": num_rows})
