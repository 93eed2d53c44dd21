"""x[index] and x[index] = value: an index of any kind is taken apart into a basic part, which makes a view, and index tensors.

PyTorch's reading of an index is followed: ints and 0-d integer tensors take a dim away first, as slices, None and ... act first; then
the index tensors, lists, arrays and masks, broadcast together, name places in the dims that are left.
"""

from typing import NamedTuple

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, int64
from flow_core.functions.writing import as_value, refuse_recorded
from flow_core.ops import inplace, scatter, shape
from flow_core.ops.index import normal_index, slice_, take_rows
from flow_core.tensor import Tensor, from_numpy

WHOLE = ("slice", None, None, None)


class Subscript(NamedTuple):
    """An index taken apart: `basic` as slice_ takes it, then index tensors in `dims` of what slice_ gives."""

    basic: tuple
    ids: tuple
    dims: tuple


def getitem(x, index):
    """x[index]: a view for ints, slices, None and ...; a copy where tensors, lists, arrays or masks of bools are among them.

    IndexError for an index out of range, too many of them, a mask of another shape than what it masks, or floats.
    """
    items = index if type(index) is tuple else (index,)
    basic = normal_index(x, items)
    if basic is not None:
        return slice_(x, index=basic)
    if len(items) == 1 and names_rows(x, items[0]):
        return take_rows(items[0], x)
    return taken(x, apart(x, items))


def names_rows(x, ids):
    """True for a tensor of row numbers that are not counted from the end: its lookup is take_rows, on tensors of any kind."""
    if not hasattr(ids, "spec") or CATEGORIES[ids.dtype] != 1 or not ids.shape or not x.shape:
        return False
    return type(ids) is not Tensor or not ids.data.size or bool(ids.data.min() >= 0)


def taken(x, subscript):
    """The elements of x that a Subscript names."""
    view = basic_part(x, subscript)
    return scatter.at(view, *subscript.ids, dims=subscript.dims) if subscript.ids else view


def basic_part(x, subscript):
    """x with the basic part of a Subscript applied."""
    return x if all([i is WHOLE for i in subscript.basic]) else slice_(x, index=subscript.basic)


def setitem(x, index, value):
    """x[index] = value: writes a number, tensor, array or nested sequences, broadcast and cast to x's dtype, into x.

    ValueError under recording if x or value requires grad: what is overwritten could not be differentiated.
    """
    if type(x) is not Tensor:  # its slices are copies
        raise TypeError(f"a {type(x).__name__} does not support item assignment: make a new one, as with slice_scatter")
    refuse_recorded("__setitem__", x, value)
    items = index if type(index) is tuple else (index,)
    basic = normal_index(x, items)
    subscript = apart(x, items) if basic is None else Subscript(basic, (), ())
    view = slice_(x, index=subscript.basic)
    value = as_value("__setitem__", value, x)
    if not subscript.ids:
        inplace.copy_(view, without_lead(value, view.ndim))
        return
    num_dims = len(scatter.landing(view.shape, subscript.dims, places_of(subscript.ids)))
    scatter.put_at_(view, without_lead(value, num_dims), *subscript.ids, dims=subscript.dims)


def without_lead(value, num_dims):
    """The value without leading dims of size 1 beyond `num_dims`, which broadcasting would refuse."""
    if not hasattr(value, "spec") or value.ndim <= num_dims:
        return value
    extra = value.ndim - num_dims
    return shape.reshape(value, shape=value.shape[extra:]) if set(value.shape[:extra]) == {1} else value


def places_of(ids):
    """The shape that the index tensors broadcast to; IndexError if there is none."""
    try:
        return np.broadcast_shapes(*[i.shape for i in ids])
    except ValueError:
        raise IndexError(
            f"indices of shapes {', '.join(str(i.shape) for i in ids)} do not broadcast together"
        ) from None


def apart(x, items):
    """The Subscript of an index into x."""
    items = [as_item(i) for i in items]
    used = sum([num_dims(i) for i in items])
    if used > x.ndim:
        raise IndexError(f"an index of {used} dims is too much for {x.spec}, which has {x.ndim}")
    if sum([i is Ellipsis for i in items]) > 1:
        raise IndexError("an index can have one '...' only")
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    basic, ids, dims, dim, place = [], [], [], 0, 0  # dim counts in x, place in what slice_ gives
    for i in items:
        if i is Ellipsis:
            fresh = [WHOLE] * (x.ndim - used)
        elif hasattr(i, "spec") and i.dtype is bool_:
            found = mask_places(x, i, dim)
            ids, dims = [*ids, *found], [*dims, *range(place, place + len(found))]
            fresh = [WHOLE] * i.ndim or [None]
        elif hasattr(i, "spec"):
            ids, dims = [*ids, i], [*dims, place]
            fresh = [WHOLE]
        else:
            fresh = [i]
        basic += fresh
        dim += sum([f is not None for f in fresh])
        place += sum([type(f) is not int for f in fresh])
    if ids:
        places_of(ids)
    return Subscript(tuple(basic), tuple(ids), tuple(dims))


def as_item(i):
    """One item of an index: an int, a slice in normal form, None, ..., or a tensor of integers or bools."""
    if i is None or i is Ellipsis or type(i) is int:
        return i
    if isinstance(i, slice):
        return normal_index(None, (i,))[0]
    if isinstance(i, (list, tuple, range)):
        i = from_nested(i)
    elif isinstance(i, (bool, np.ndarray, np.generic)):
        i = from_numpy(np.array(i))
    if not hasattr(i, "spec"):
        if hasattr(i, "__index__"):
            return i.__index__()
        raise IndexError(f"an index of {type(i).__name__} is none of: int, slice, None, ..., tensor, list, array, bool")
    if CATEGORIES[i.dtype] > 1:
        raise IndexError(f"an index is {i.spec}, expected integers or bools")
    return int(i) if not i.shape and CATEGORIES[i.dtype] == 1 else i


def from_nested(i):
    """A tensor of the ints, bools and tensors in nested sequences; an empty one holds int64."""
    try:
        array = np.array([as_plain(j) for j in i])
    except ValueError:
        raise IndexError(f"an index {i} is ragged: all its rows must be equally long") from None
    if array.dtype.kind not in "biu" and (array.size or array.dtype.kind == "c"):
        raise IndexError(f"an index {i} holds {array.dtype}, expected ints or bools")
    return from_numpy(array if array.size else array.astype(int64))


def as_plain(i):
    """A tensor, or nested sequences of them, as numpy takes it."""
    return [as_plain(j) for j in i] if isinstance(i, (list, tuple)) else i.numpy() if hasattr(i, "spec") else i


def num_dims(i):
    """How many dims of the indexed tensor an item takes."""
    if i is None or i is Ellipsis:
        return 0
    return i.ndim if hasattr(i, "spec") and i.dtype is bool_ else 1


def mask_places(x, mask, dim):
    """The index tensors of the places where a mask over the dims from `dim` is True; of a 0-d one, those into a new dim of size 1."""
    if mask.shape != x.shape[dim : dim + mask.ndim]:
        raise IndexError(f"mask {mask.spec} does not have the shape of dims {dim} to {dim + mask.ndim - 1} of {x.spec}")
    if not mask.shape:
        return [from_numpy(np.zeros(1 if bool(mask) else 0, int64))]
    return [from_numpy(i) for i in np.nonzero(plain("an index", mask))]


def require_tensors(name, **given):
    """TypeError for an argument that is no tensor."""
    for argument, value in given.items():
        if not hasattr(value, "spec"):
            raise TypeError(f"{name}: {argument} is a {type(value).__name__}, expected a tensor")


def plain(name, x):
    """The array of a plain tensor; TypeError for a tensor of another kind, whose elements are not here to be looked at."""
    if type(x) is not Tensor:
        raise TypeError(
            f"{name}: its result depends on the elements of a {type(x).__name__}: it takes plain tensors only"
        )
    return x.data
