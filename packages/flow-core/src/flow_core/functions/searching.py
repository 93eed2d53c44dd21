"""Where values stand in sorted sequences, and which are among others. All results are without gradient."""

import numpy as np

from flow_core.dtype import CATEGORIES, int32, int64, promote
from flow_core.functions.subscript import plain, require_tensors
from flow_core.ops.creation import full
from flow_core.tensor import from_numpy


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The places in the rows of `sorted_sequence` before which the values of `input` (a tensor or a number) keep their order.

    Before equal elements, or with `right` (side "right") after them. The leading dims of both must agree, or the sequence is a vector.
    `sorter` holds the order that sorts an unsorted sequence. Of input's shape; int64, or int32 with `out_int32`. NaN is largest.
    """
    if side not in (None, "left", "right"):
        raise ValueError(f'searchsorted: side is {side!r}, expected "left" or "right"')
    if side == "left" and right:
        raise ValueError('searchsorted: side is "left" and right is True, which contradict each other')
    right = right or side == "right"
    table = plain("searchsorted", sorted_sequence)
    if not hasattr(input, "spec"):
        if table.ndim != 1:
            raise ValueError(f"searchsorted: a number can be searched in a vector only, not in {sorted_sequence.spec}")
        input = full((), input)
    elif input.dtype is not sorted_sequence.dtype:
        raise TypeError(f"searchsorted: input {input.spec} must have the dtype of the sequence, {sorted_sequence.spec}")
    values = plain("searchsorted", input)
    if not table.ndim:
        raise ValueError(f"searchsorted: the sequence {sorted_sequence.spec} must have a dim at least")
    if table.ndim > 1 and (values.ndim != table.ndim or values.shape[:-1] != table.shape[:-1]):
        raise ValueError(
            f"searchsorted: input {input.spec} must have the leading dims of the sequence, {sorted_sequence.spec}"
        )
    if CATEGORIES[sorted_sequence.dtype] == 3:
        raise TypeError(f"searchsorted: {sorted_sequence.spec} holds complex numbers, which have no order")
    if sorter is not None:
        table = in_order(table, sorter)
    dtype, which = (int32 if out_int32 else int64), "right" if right else "left"
    if table.ndim == 1:
        return from_numpy(np.asarray(np.searchsorted(table, values, which), dtype))
    rows = (
        table.reshape(-1, table.shape[-1]) if table.size else np.zeros((int(np.prod(table.shape[:-1])), 0), table.dtype)
    )
    found = [
        np.searchsorted(row, v, which) for row, v in zip(rows, values.reshape(len(rows), values.shape[-1]), strict=True)
    ]
    return from_numpy(np.asarray(found, dtype).reshape(values.shape))


def in_order(table, sorter):
    """The sequences in the order that `sorter`, a tensor of int64, gives."""
    require_tensors("searchsorted", sorter=sorter)
    if sorter.shape != table.shape or sorter.dtype is not int64:
        raise ValueError(f"searchsorted: sorter is {sorter.spec}, expected int64 of the sequence's shape {table.shape}")
    order = plain("searchsorted", sorter)
    if order.size and (order.min() < 0 or order.max() >= table.shape[-1]):
        raise IndexError(f"searchsorted: sorter names places out of range for {table.shape[-1]} elements")
    return np.take_along_axis(table, order, -1)


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The index of the bucket between the rising `boundaries` (a vector) that each value of `input` (a tensor or a number) falls in.

    A value equal to a boundary falls in the bucket below it, or with `right` above it. int64, or int32 with `out_int32`.
    """
    require_tensors("bucketize", boundaries=boundaries)
    if boundaries.ndim != 1:
        raise ValueError(f"bucketize: boundaries are {boundaries.spec}, expected one dim")
    table, values = plain("bucketize", boundaries), input
    if hasattr(input, "spec"):
        if input.dtype is not boundaries.dtype:
            raise TypeError(f"bucketize: input {input.spec} must have the dtype of the boundaries, {boundaries.spec}")
        values = plain("bucketize", input)
    found = np.searchsorted(table, values, "right" if right else "left")
    return from_numpy(np.asarray(found, int32 if out_int32 else int64))


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Bools of the shape of `elements`: whether each is among `test_elements`, or with `invert` is not. Either may be a number.

    NaN is among nothing. `assume_unique` promises that neither has an element twice, and changes nothing.
    """
    given = [elements, test_elements]
    if not any(hasattr(t, "spec") for t in given):
        raise TypeError("isin: one of elements and test_elements must be a tensor")
    for t in given:
        if not hasattr(t, "spec") and not isinstance(t, (bool, int, float, complex)):
            raise TypeError(f"isin: elements or test_elements is a {type(t).__name__}, expected a tensor or a number")
    dtype = promote(*[t.dtype if hasattr(t, "spec") else type(t) for t in given])
    arrays = [plain("isin", t).astype(dtype) if hasattr(t, "spec") else number_as(t, dtype) for t in given]
    return from_numpy(np.asarray(np.isin(*arrays, invert=bool(invert))))


def number_as(number, dtype):
    """A Python number as an array of `dtype`; one that integers of the dtype cannot be, as it is."""
    if CATEGORIES[dtype] == 1 and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        return np.asarray(number)
    with np.errstate(all="ignore"):
        return np.asarray(number).astype(dtype)


FUNCTIONS = {f.__name__: f for f in (searchsorted, bucketize, isin)}
METHODS = {}
