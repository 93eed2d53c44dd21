"""Finding, taking, sorting, and the distinct elements."""

from typing import NamedTuple

import numpy as np

import flow_core as flow
from flow_core.array_api.dtypes import promoted
from flow_core.array_api.elementwise import alike
from flow_core.spec import as_dim
from flow_core.tensor import Tensor


class UniqueAll(NamedTuple):
    """What unique_all returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What unique_counts returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What unique_inverse returns."""

    values: Tensor
    inverse_indices: Tensor


def argmax(x, /, *, axis=None, keepdims=False):
    """The int64 place of the first largest element along an axis, or in the flattened x."""
    return flow.argmax(x, dim=axis, keepdim=keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The int64 place of the first smallest element along an axis, or in the flattened x."""
    return flow.argmin(x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """The number of elements that are not 0, int64."""
    return flow.sum(flow.ne(x, 0), dim=axis, keepdim=keepdims)


def nonzero(x, /):
    """The places of the elements that are not 0, in row-major order: an int64 tensor for each axis. ValueError for a 0-d tensor."""
    if not x.ndim:
        raise ValueError("nonzero: a 0-d tensor has no places; reshape it to (1,)")
    return tuple([flow.from_numpy(place) for place in np.nonzero(x.data)])


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where in rising x1 (1-d; rising in the order `sorter`, if given) each element of x2 would be put in: before equal ones, or behind
    them with side="right". int64."""
    if x1.ndim != 1 or side not in ("left", "right"):
        raise ValueError(
            f'searchsorted: x1 is {x1.spec}, expected one dim; side is {side!r}, expected "left" or "right"'
        )
    a, b = promoted(x1.detach(), x2.detach())
    places = np.searchsorted(a.data, b.data, side, None if sorter is None else sorter.data)
    return flow.from_numpy(np.asarray(places, np.int64))


def isin(x1, x2, /, *, invert=False):
    """True where an element of x1 (or x1, a number) is among those of x2; with `invert` where it is not. From the standard's 2025.12."""
    x1, x2 = alike(x1, x2)
    return flow.from_numpy(np.asarray(np.isin(x1.data, x2.data, invert=invert)))


def where(condition, x1, x2, /):
    """x1 where `condition` (bools) holds, x2 elsewhere; shapes broadcast, dtypes promote, one of x1 and x2 may be a Python number."""
    return flow.where(condition, *alike(x1, x2))


def take(x, indices, /, *, axis=None):
    """The elements of x along an axis that `indices` (a 1-d tensor of ints; negative ones count from the end) names.

    IndexError beyond the end. The axis may be left out for 1-d x.
    """
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: {x.spec} has {x.ndim} dims: name the axis")
    axis = as_dim("take", 0 if axis is None else axis, x.ndim)
    if indices.ndim > 1:
        raise ValueError(f"take: indices are {indices.spec}, expected one dim")
    rows = flow.take_rows(from_front(indices, x.shape[axis]), flow.movedim(x, axis, 0))
    return flow.movedim(rows, 0, axis) if indices.ndim else rows


def from_front(indices, size):
    """Indices with the negative ones counted from the front."""
    if indices.dtype.kind != "i":
        return indices
    return flow.from_numpy(np.where(indices.data < 0, indices.data + size, indices.data).astype(np.int64))


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements of x along an axis that `indices` names, place by place: of the same number of dims; the others broadcast."""
    axis = as_dim("take_along_axis", axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(f"take_along_axis: {x.spec} and indices {indices.spec} must have as many dims")
    rest = [n for d, n in enumerate(x.shape) if d != axis], [n for d, n in enumerate(indices.shape) if d != axis]
    shape = list(flow.broadcast_shapes(*map(tuple, rest)))
    wide = (flow.broadcast_to(t, (*shape[:axis], t.shape[axis], *shape[axis:])) for t in (x, indices))
    x, indices = wide
    return flow.gather(x, axis, flow.cast(from_front(indices, x.shape[axis]), dtype="int64"))


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The int64 places along an axis of x's elements in rising (or falling) order; equal ones keep their order."""
    return flow.argsort(x, axis, descending, stable=True)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """x's elements along an axis in rising (or falling) order; NaN counts as the largest."""
    return flow.sort(x, axis, descending, True).values


def distinct(x):
    """(values, first places, inverse, counts) of the distinct elements, rising; each NaN is one of its own."""
    flat = flow.ravel(x)
    _, first, inverse, counts = np.unique(
        flat.data, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    first, inverse, counts = (flow.from_numpy(a.astype(np.int64)) for a in (first, inverse.reshape(x.shape), counts))
    return flow.take_rows(first, flat), first, inverse, counts


def unique_all(x, /):
    """(values, indices, inverse_indices, counts): the distinct elements, where each comes first in the flattened x, which of them each
    element of x is, and how often it comes."""
    return UniqueAll(*distinct(x))


def unique_counts(x, /):
    """(values, counts): the distinct elements and how often each comes."""
    values, _, _, counts = distinct(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    """(values, inverse_indices): the distinct elements, and which of them each element of x is."""
    values, _, inverse, _ = distinct(x)
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    """The distinct elements, rising; each NaN is one of its own."""
    return distinct(x)[0]
