"""Tensors of other libraries' data: DLPack, the buffer protocol, numpy's __array__, nested sequences."""

from collections.abc import Sequence

import numpy as np

from flow_core import dlpack
from flow_core.device import as_device
from flow_core.dtype import as_dtype
from flow_core.ops import elementwise
from flow_core.tensor import Tensor, from_numpy, tensor


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor of the memory of an object with __dlpack__ (numpy, torch, jax, ...), without a copy unless copy=True.

    Who else writes to that memory is not known here: a backward pass cannot notice that what it saved has changed (flow_core.writes).
    The memory is read-only where its owner says so, or where the capsule is of DLPack before version 1. BufferError for memory of
    another device than the CPU.
    """
    as_device(device)
    return from_numpy(dlpack.imported(x, copy))


def asarray_copying(obj, dtype, device, copy):
    """A tensor of `obj`; copy True always copies, False never (ValueError where it must), None where it must."""
    as_device(device)
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Tensor):
        fits = dtype is None or dtype is obj.dtype
        if copy is False and not fits:
            raise ValueError(f"asarray: {obj.spec} cannot become {dtype} without a copy, which copy=False forbids")
        return obj if fits and not copy else elementwise.cast(obj, dtype=obj.dtype if dtype is None else dtype)
    array = own_memory(obj)
    if array is None:
        if copy is False:
            raise ValueError(f"asarray: a {type(obj).__name__} has no memory to share; copy=False forbids a copy")
        return tensor(obj, dtype=dtype)
    if array.dtype.kind in "OUSMmV" and array.dtype.name != "bfloat16":
        raise ValueError(f"asarray: a {type(obj).__name__} holds {array.dtype}, not numbers")
    fits = array.dtype == as_dtype(array.dtype if dtype is None else dtype) and array.dtype.isnative
    if copy is False and not fits:
        raise ValueError(f"asarray: {array.dtype} cannot become {dtype} without a copy, which copy=False forbids")
    if copy or not fits:
        array = np.array(array, dtype=as_dtype(array.dtype if dtype is None else dtype), copy=True)
    return from_numpy(array)


def own_memory(obj):
    """The array of an object that has memory of its own; None for a number or a sequence."""
    if isinstance(obj, np.ndarray):
        return obj
    if isinstance(obj, (bool, int, float, complex, list, tuple, np.generic)):
        return None
    if hasattr(obj, "__dlpack__"):
        return dlpack.imported(obj)
    try:
        return np.asarray(obj if hasattr(obj, "__array__") else memoryview(obj))
    except TypeError:
        if isinstance(obj, Sequence):
            return None
        raise TypeError(
            f"asarray: a {type(obj).__name__} is no number, sequence, or object with a buffer, __dlpack__ or __array__"
        ) from None


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of a number, nested sequences, or an object with a buffer, __dlpack__ or __array__; shares memory where it can.

    copy True always copies, False never (ValueError where it must). With requires_grad a leaf; otherwise a tensor comes back as it is.
    """
    out = asarray_copying(obj, dtype, device, copy)
    return out.detach().requires_grad_() if requires_grad else out


def as_tensor(data, dtype=None, device=None):
    """A tensor of `data` that shares its memory, and its history, where dtype and device allow; otherwise a copy."""
    return asarray_copying(data, dtype, device, None)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor in one dim of the memory of an object with the buffer protocol: `count` elements (-1 for all) from byte `offset` on.

    It shares the memory, and is read-only if that is. ValueError unless that many whole elements are there.
    """
    dtype = as_dtype(dtype)
    data = memoryview(buffer).cast("B")
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < len(data):
        raise ValueError(
            f"frombuffer: offset is {offset!r}, expected an int from 0 to {len(data) - 1}, within the buffer"
        )
    left = len(data) - offset
    if isinstance(count, bool) or not isinstance(count, int) or count == 0 or count < -1:
        raise ValueError(f"frombuffer: count is {count!r}, expected -1 or an int above 0")
    if count == -1:
        if left % dtype.itemsize:
            raise ValueError(f"frombuffer: {left} bytes from offset {offset} on are not whole elements of {dtype}")
        count = left // dtype.itemsize
    if count * dtype.itemsize > left:
        raise ValueError(
            f"frombuffer: {count} elements of {dtype} need {count * dtype.itemsize} bytes, and {left} are left"
        )
    words = np.frombuffer(data, f"u{dtype.itemsize}" if dtype.name == "bfloat16" else dtype, count, offset)
    t = from_numpy(words.view(dtype))
    return t.requires_grad_(requires_grad)
