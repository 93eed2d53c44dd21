"""Reductions and running totals. Without an axis all axes are reduced; `axis` may be a tuple."""

import flow_core as flow
from flow_core.dtype import CATEGORIES, as_dtype
from flow_core.spec import as_dim


def over(function, x, axis, **attrs):
    """function(x, dim=axis, ...): an empty tuple reduces nothing here, and everything in PyTorch's words."""
    if axis == ():
        keepdim = attrs.pop("keepdim", None)
        return function(flow.unsqueeze(x, 0), dim=0, **attrs, **({} if keepdim is None else {"keepdim": False}))
    return function(x, dim=axis, **attrs)


def total_dtype(x, dtype):
    """The dtype of a sum or product of x: the widest of its kind for integers, x's own for floats, unless given."""
    if dtype is not None:
        return as_dtype(dtype)
    if CATEGORIES[x.dtype] > 1:
        return x.dtype
    return flow.uint64 if x.dtype.kind == "u" else flow.int64


def max(x, /, *, axis=None, keepdims=False):
    """The largest element; NaN if one is among them. ValueError if there are none."""
    return over(flow.amax, x, axis, keepdim=keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element; NaN if one is among them. ValueError if there are none."""
    return over(flow.amin, x, axis, keepdim=keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean, of x's float dtype; NaN over no elements. TypeError for integers."""
    return over(flow.mean, x, axis, keepdim=keepdims)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum. Without a dtype signed integers and bools give int64, unsigned ones uint64."""
    dtype = total_dtype(x, dtype)
    out = over(flow.sum, x if x.dtype is dtype else flow.cast(x, dtype=dtype), axis, keepdim=keepdims)
    return out if out.dtype is dtype else flow.cast(out, dtype=dtype)  # sums modulo 2^64 are the same in either type


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product, 1 over no elements. Without a dtype signed integers and bools give int64, unsigned ones uint64."""
    dtype = total_dtype(x, dtype)
    out = over(flow.prod, x, axis, keepdim=keepdims, dtype=dtype)
    return out if out.dtype is dtype else flow.cast(out, dtype=dtype)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of var."""
    return over(flow.std, x, axis, correction=correction, keepdim=keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The sum of squared differences from the mean over (count - correction)."""
    return over(flow.var, x, axis, correction=correction, keepdim=keepdims)


def running(name, function, neutral, x, axis, dtype, include_initial):
    """A running total along an axis, with the neutral element in front if asked for."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name}: {x.spec} has {x.ndim} dims: name the axis")
    axis = as_dim(name, 0 if axis is None else axis, x.ndim)
    dtype = total_dtype(x, dtype)
    out = flow.cast(function(flow.cast(x, dtype=dtype), axis), dtype=dtype)
    if not include_initial:
        return out
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return flow.cat([flow.full(shape, neutral, dtype=dtype), out], dim=axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of the elements up to each place along an axis, with a 0 before them if include_initial; dtypes as for sum."""
    return running("cumulative_sum", flow.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of the elements up to each place along an axis, with a 1 before them if include_initial; dtypes as for prod."""
    return running("cumulative_prod", flow.cumprod, 1, x, axis, dtype, include_initial)


def all(x, /, *, axis=None, keepdims=False):
    """True where every element is not 0; True over no elements."""
    return over(flow.all, x, axis, keepdim=keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """True where an element is not 0; False over no elements."""
    return over(flow.any, x, axis, keepdim=keepdims)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times over, of x with `prepend` before it and `append` behind it."""
    axis = as_dim("diff", axis, x.ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    return flow.diff(x if len(parts) == 1 else flow.cat(parts, dim=axis), n, axis)
