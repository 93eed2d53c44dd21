"""Tensors made from sizes and numbers."""

import builtins
import math

import numpy as np

from flow_core.device import CPU, as_device
from flow_core.dtype import SCALAR_DEFAULTS, as_dtype, float32, int64
from flow_core.op import Checked, define
from flow_core.spec import TensorSpec, as_shape


def full_kernel(*, shape, fill_value, dtype, device):
    return lambda: np.full(shape, fill_value, dtype)


@define(full_kernel)
def full(*, shape, fill_value, dtype=None, device=None):
    """A tensor of `shape` with every element `fill_value`, a Python number, which decides the dtype if none is given."""
    dtype = as_dtype(type(fill_value) if dtype is None else dtype)
    check_number("full", fill_value, dtype)
    shape, device = as_shape("full", shape), as_device(device)
    return Checked(
        TensorSpec(shape, dtype, device), {"shape": shape, "fill_value": fill_value, "dtype": dtype, "device": device}
    )


def check_number(name, fill_value, dtype):
    """Errors unless `fill_value` is a Python number that `dtype` can hold."""
    if type(fill_value) not in SCALAR_DEFAULTS:
        raise TypeError(f"{name}: fill_value is a {type(fill_value).__name__}, expected a Python number")
    if isinstance(fill_value, complex) and dtype.kind != "c":
        raise TypeError(f"{name}: fill_value {fill_value} is complex and dtype {dtype} is not")
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not math.isfinite(fill_value) or not low <= int(fill_value) <= high:
            raise ValueError(f"{name}: fill_value {fill_value} is out of the range of {dtype}, {low} to {high}")


def zeros(*shape, dtype=float32, device=None):
    """Zeros of `shape`, given as sizes or as one sequence."""
    return full(shape=sizes(shape), fill_value=0, dtype=dtype, device=device)


def ones(*shape, dtype=float32, device=None):
    """Ones of `shape`, given as sizes or as one sequence."""
    return full(shape=sizes(shape), fill_value=1, dtype=dtype, device=device)


def sizes(shape):
    """The shape that a call wrote as sizes or as one sequence."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def arange_kernel(*, start, end, step, dtype, device):
    count = arange_length(start, end, step)
    return lambda: (start + step * np.arange(count)).astype(dtype)


def arange_length(start, end, step):
    return builtins.max(math.ceil((end - start) / step), 0)


@define(arange_kernel)
def arange_from(*, start, end, step, dtype=None, device=None):
    """start, start + step, ... up to but without `end`. int64 if all three are ints, else float32, unless dtype is given."""
    if any(type(v) not in (int, float) for v in (start, end, step)):
        raise TypeError(f"arange_from: start {start!r}, end {end!r} and step {step!r} must be ints or floats")
    if step == 0 or not all(map(math.isfinite, (start, end, step))):
        raise ValueError(f"arange_from: start {start}, end {end} and step {step} must be finite, and step not 0")
    whole = all(isinstance(v, int) for v in (start, end, step))
    dtype = (int64 if whole else float32) if dtype is None else as_dtype(dtype)
    attrs = {"start": start, "end": end, "step": step, "dtype": dtype, "device": as_device(device)}
    return Checked(TensorSpec((arange_length(start, end, step),), dtype, CPU), attrs)


def arange(start, end=None, step=1, *, dtype=None, device=None):
    """The numbers from `start` (0 if only one bound is given) by `step` up to but without `end`, in one dim."""
    if end is None:
        start, end = 0, start
    return arange_from(start=start, end=end, step=step, dtype=dtype, device=device)


def full_like(x, fill_value, *, dtype=None):
    """A tensor of x's shape, dtype (unless given) and layout with every element `fill_value`."""
    return full_as(x, fill_value=fill_value, dtype=dtype)


def zeros_like(x, *, dtype=None):
    """Zeros of x's shape, dtype and layout."""
    return full_as(x, fill_value=0, dtype=dtype)


def ones_like(x, *, dtype=None):
    """Ones of x's shape, dtype and layout."""
    return full_as(x, fill_value=1, dtype=dtype)


def full_as_kernel(x, /, *, fill_value, dtype):
    return lambda a: np.full(a.shape, fill_value, dtype)


@define(full_as_kernel)
def full_as(x, /, *, fill_value, dtype=None):
    """A tensor of x's shape with every element `fill_value`; of x's dtype unless another is given. Reads nothing of x but its spec."""
    dtype = x.dtype if dtype is None else as_dtype(dtype)
    check_number("full_as", fill_value, dtype)
    return Checked(x.with_dtype(dtype), {"fill_value": fill_value, "dtype": dtype})
