"""Tensors from sizes, numbers and foreign data."""

import numpy as np

import flow_core as flow
from flow_core.device import as_device
from flow_core.dtype import as_dtype
from flow_core.interchange import asarray_copying
from flow_core.interchange import from_dlpack as from_dlpack
from flow_core.spec import as_shape


def fresh(array, dtype, device):
    """A tensor around a new array, in `dtype` (its own without one)."""
    as_device(device)
    return flow.from_numpy(array if dtype is None else array.astype(as_dtype(dtype), copy=False))


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of a number, nested sequences of numbers and tensors, or an object with a buffer, __dlpack__ or __array__.

    copy True always copies, False never (ValueError where it must), None where it must. Gradients flow back to a tensor.
    """
    return asarray_copying(obj, dtype, device, copy)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... up to but without `stop`; from 0 up to `start` without one."""
    return flow.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    """A tensor of whatever was in its memory; float32 without a dtype."""
    dtype = as_dtype("float32" if dtype is None else dtype)
    return fresh(np.empty(as_shape("empty", shape), dtype), dtype, device)


def empty_like(x, /, *, dtype=None, device=None):
    """A tensor of x's shape, and dtype unless one is given, of whatever was in its memory."""
    return empty(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the diagonal k of a matrix, zeros elsewhere."""
    return fresh(np.eye(n_rows, n_cols, k, as_dtype("float32" if dtype is None else dtype)), None, device)


def full(shape, fill_value, *, dtype=None, device=None):
    """A tensor of `shape` with every element `fill_value`, a Python number, which decides the dtype if none is given."""
    return flow.full(shape, fill_value, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """A tensor of x's shape, and dtype unless one is given, with every element `fill_value`."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers evenly from `start` to `stop`, which is the last one, or with endpoint=False would be the next."""
    if dtype is None:
        dtype = "complex64" if isinstance(start, complex) or isinstance(stop, complex) else "float32"
    return fresh(np.linspace(start, stop, num, endpoint=endpoint), dtype, device)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid from those along each axis, a list of as many tensors; "ij" keeps the axes' order."""
    return list(flow.meshgrid(*arrays, indexing=indexing)) if arrays else []


def ones(shape, *, dtype=None, device=None):
    """Ones; float32 without a dtype."""
    return full(shape, 1, dtype="float32" if dtype is None else dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones of x's shape, and dtype unless one is given."""
    return full_like(x, 1, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """Zeros; float32 without a dtype."""
    return full(shape, 0, dtype="float32" if dtype is None else dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros of x's shape, and dtype unless one is given."""
    return full_like(x, 0, dtype=dtype, device=device)


def triangle(name, x, mask):
    """x where `mask`, a numpy array over the last two dims, is true, 0 elsewhere."""
    if x.ndim < 2:
        raise ValueError(f"{name}: {x.spec} has {x.ndim} dims, expected 2 or more")
    return flow.where(flow.from_numpy(mask), x, flow.zeros_like(x.detach()))


def tril(x, /, *, k=0):
    """x with 0 above its diagonal k."""
    return triangle("tril", x, np.tri(*x.shape[-2:], k, dtype=bool)) if x.ndim > 1 else triangle("tril", x, None)


def triu(x, /, *, k=0):
    """x with 0 below its diagonal k."""
    return triangle("triu", x, ~np.tri(*x.shape[-2:], k - 1, dtype=bool)) if x.ndim > 1 else triangle("triu", x, None)
