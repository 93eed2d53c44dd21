"""Reductions over dims, and the ops that are built on one."""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, float32, int64
from flow_core.op import Checked, define
from flow_core.spec import as_dim, as_dims, num_elements


def reduced(name, x, dim, keepdim, dtype):
    """What a reduction of x over `dim` infers; dims come out in normal form."""
    dims = as_dims(name, dim, x.ndim)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    return Checked(x.with_shape(shape).with_dtype(dtype), {"dim": dims, "keepdim": bool(keepdim)})


def reduction(ufunc, cast=None):
    """The binding of a numpy reduction: 16-bit floats are added in float32 and rounded once."""

    def kernel(x, /, *, dim, keepdim):
        narrow = x.dtype if CATEGORIES[x.dtype] == 2 else (cast or (lambda d: d))(x.dtype)
        wide = float32 if narrow.itemsize == 2 and CATEGORIES[narrow] == 2 else narrow
        shape = reduced("", x, dim, keepdim, wide).out.shape
        reduce = ufunc.reduce

        def run(a):
            # Given its output numpy returns an array, also where it would make a number of it; by place the call is shorter.
            out = reduce(a, dim, wide, np.empty(shape, wide), keepdim)
            return out if wide is narrow else out.astype(narrow)

        return run

    return kernel


def sum_dtype(dtype):
    """The type that a sum of `dtype` is taken and returned in: int64 for integers and bools."""
    return int64 if CATEGORIES[dtype] < 2 else dtype


@define(reduction(np.add, sum_dtype), linear=(0,))
def sum(x, /, *, dim=None, keepdim=False):
    """The sum over `dim` (an int, several, or None for all). Integers and bools give int64; 16-bit floats are added in float32."""
    return reduced("sum", x, dim, keepdim, sum_dtype(x.dtype))


def mean_kernel(x, /, *, dim, keepdim):
    wide = float32 if x.dtype.itemsize == 2 else x.dtype
    count = np.asarray(num_elements([x.shape[d] for d in dim]), wide)

    def run(a):
        with np.errstate(all="ignore"):
            return np.asarray(np.add.reduce(a, axis=dim, dtype=wide, keepdims=keepdim) / count, x.dtype)

    return run


@define(mean_kernel, linear=(0,))
def mean(x, /, *, dim=None, keepdim=False):
    """The mean over `dim`; NaN over no elements. TypeError for integers, whose mean has no type of theirs."""
    if CATEGORIES[x.dtype] < 2:
        raise TypeError(f"mean: {x} holds integers; cast it to a float type first, as in x.to(flow.float32)")
    return reduced("mean", x, dim, keepdim, x.dtype)


def extreme(ufunc):
    def kernel(x, /, *, dim, keepdim):
        if not x.size:  # numpy refuses an empty dim even where there is no output to fill
            return lambda a: np.add.reduce(a, axis=dim, keepdims=keepdim, dtype=x.dtype)
        return lambda a: np.asarray(ufunc.reduce(a, axis=dim, keepdims=keepdim))

    return kernel


def nonempty(name, x, checked):
    """`checked`, or the ValueError that a reduction without a neutral element owes where it would meet no elements."""
    empty = [d for d in checked.attrs["dim"] if x.shape[d] == 0]
    if empty and checked.out.size:
        raise ValueError(f"{name}: {x} has no elements in dim {empty[0]}, and {name} of nothing is undefined")
    return checked


@define(extreme(np.maximum))
def amax(x, /, *, dim=None, keepdim=False):
    """The largest element over `dim`; NaN if one is among them. ValueError if there are none. Ties share the gradient evenly."""
    return nonempty("amax", x, reduced("amax", x, dim, keepdim, x.dtype))


@define(extreme(np.minimum))
def amin(x, /, *, dim=None, keepdim=False):
    """The smallest element over `dim`; NaN if one is among them. ValueError if there are none. Ties share the gradient evenly."""
    return nonempty("amin", x, reduced("amin", x, dim, keepdim, x.dtype))


def argmax_kernel(x, /, *, dim, keepdim):
    return lambda a: np.asarray(np.argmax(a, axis=dim, keepdims=keepdim))


@define(argmax_kernel)
def argmax(x, /, *, dim=None, keepdim=False):
    """The int64 index of the first largest element along `dim`, or in the flattened x without one. ValueError if there are none."""
    if dim is None:
        shape = (1,) * x.ndim if keepdim else ()
        if not x.size:
            raise ValueError(f"argmax: {x} has no elements")
    else:
        dim = as_dim("argmax", dim, x.ndim)
        shape = [1 if d == dim else n for d, n in enumerate(x.shape) if keepdim or d != dim]
        if x.shape[dim : dim + 1] == (0,):
            raise ValueError(f"argmax: {x} has no elements in dim {dim}")
    return Checked(x.with_shape(shape).with_dtype(int64), {"dim": dim, "keepdim": bool(keepdim)})


def sum_of_squares_kernel(x, /):
    wide = np.float64 if x.dtype.itemsize == 8 else np.float32

    def run(a):
        flat = np.ascontiguousarray(a, wide).reshape(-1)
        return np.asarray(np.dot(flat, flat), x.dtype)

    return run


@define(sum_of_squares_kernel)
def sum_of_squares(x, /):
    """The sum of x * x over all elements, a 0-d tensor of x's dtype: what norms are made of. TypeError for integers and complex."""
    if CATEGORIES[x.dtype] != 2:
        raise TypeError(f"sum_of_squares: {x} is not of a float type")
    return x.with_shape(())


def has_any(x, /, *, dim, keepdim):
    return lambda a: np.asarray(np.any(a, axis=dim, keepdims=keepdim))


def has_all(x, /, *, dim, keepdim):
    return lambda a: np.asarray(np.all(a, axis=dim, keepdims=keepdim))


@define(has_any)
def any(x, /, *, dim=None, keepdim=False):
    """True where an element over `dim` is not zero; False over no elements."""
    return reduced("any", x, dim, keepdim, bool_)


@define(has_all)
def all(x, /, *, dim=None, keepdim=False):
    """True where every element over `dim` is not zero; True over no elements."""
    return reduced("all", x, dim, keepdim, bool_)
