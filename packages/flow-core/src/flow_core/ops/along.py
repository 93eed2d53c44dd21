"""Ops along one dim: running sums, orders, and the elements that indices name."""

import numpy as np

from flow_core.dtype import CATEGORIES, float32, int64
from flow_core.op import Checked, define
from flow_core.ops.reduce import sum_dtype
from flow_core.spec import as_dim, as_shape


def cumsum_kernel(x, /, *, dim):
    out = sum_dtype(x.dtype)
    wide = float32 if CATEGORIES[out] == 2 and out.itemsize == 2 else out

    def run(a):
        total = a.astype(wide) if not a.ndim else np.cumsum(a, axis=dim, dtype=wide)
        return np.asarray(total, out)

    return run


@define(cumsum_kernel, linear=(0,))
def cumsum(x, /, *, dim):
    """The sums of the elements up to each place along `dim`. Integers and bools give int64; 16-bit floats are added in float32."""
    return Checked(x.with_dtype(sum_dtype(x.dtype)), {"dim": as_dim("cumsum", dim, x.ndim)})


def argsort_kernel(x, /, *, dim, descending):
    def run(a):
        if not a.ndim:
            return np.zeros((), np.int64)
        if not descending:
            return np.argsort(a, axis=dim, kind="stable")
        # Read backwards, a stable order of the elements read backwards falls, and equal elements keep their order.
        backwards = np.argsort(np.flip(a, dim), axis=dim, kind="stable")
        return a.shape[dim] - 1 - np.flip(backwards, dim)

    return run


@define(argsort_kernel)
def argsort(x, /, *, dim=-1, descending=False):
    """The int64 places along `dim` of x's elements in rising (or falling) order, equal ones in the order they have; NaN is largest."""
    if CATEGORIES[x.dtype] == 3:
        raise TypeError(f"argsort: {x} holds complex numbers, which have no order")
    return Checked(x.with_dtype(int64), {"dim": as_dim("argsort", dim, x.ndim), "descending": bool(descending)})


def check_index(name, index, whole, dim):
    """Errors unless `index` (int64) can name places along `dim` of a tensor of shape `whole`."""
    if index.dtype is not int64:
        raise TypeError(f"{name}: index is {index}, expected int64")
    if index.ndim != len(whole):
        raise ValueError(f"{name}: index {index} must have as many dims as the tensor of shape {whole}")
    for d, (n, size) in enumerate(zip(index.shape, whole, strict=True)):
        if d != dim and n > size:
            raise ValueError(f"{name}: index {index} is larger than the tensor of shape {whole} in dim {d}")


def check_places(name, index, size):
    """IndexError if an element of an index array is not in [0, size)."""
    if index.size and (index.min() < 0 or index.max() >= size):
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(f"{name}: index {bad} is out of range for size {size}")


def beside(shape, dim):
    """The part of a larger array that lies beside an index of `shape`: all of `dim`, as much of the other dims as the index has."""
    return tuple([slice(None) if d == dim else slice(n) for d, n in enumerate(shape)])


def grid_along(index, dim):
    """Index arrays, one a dim, that name the places which `index` names along `dim`, each beside itself in the other dims."""
    grid = list(np.ogrid[tuple([slice(n) for n in index.shape])])
    grid[dim] = index
    return tuple(grid)


def gather_kernel(x, index, /, *, dim):
    size = x.shape[dim] if x.ndim else 1

    def run(a, i):
        check_places("gather", i, size)
        return np.asarray(np.take_along_axis(a[beside(i.shape, dim)], i, axis=dim)) if a.ndim else np.array(a)

    return run


@define(gather_kernel, linear=(0,))
def gather(x, index, /, *, dim):
    """The elements of x along `dim` that `index` (int64) names: out[i][j] = x[index[i][j]][j] for dim 0; of index's shape.

    Index may be smaller than x in the other dims. IndexError for an index out of range.
    """
    dim = as_dim("gather", dim, x.ndim)
    check_index("gather", index, x.shape, dim)
    return Checked(x.with_shape(index.shape), {"dim": dim})


def add_along_kernel(g, index, /, *, dim, shape):
    size = shape[dim] if shape else 1
    wide = float32 if CATEGORIES[g.dtype] == 2 and g.dtype.itemsize == 2 else g.dtype

    def run(a, i):
        check_places("add_along", i, size)
        out = np.zeros(shape, wide)
        if not shape:
            return np.array(a)
        if i.size:
            # Flat, since numpy adds fastest in one dim.
            flat = np.ravel_multi_index(grid_along(i, dim), shape).reshape(-1)
            np.add.at(out.reshape(-1), flat, a.reshape(-1).astype(wide, copy=False))
        return out.astype(g.dtype, copy=False)

    return run


@define(add_along_kernel, linear=(0,))
def add_along(g, index, /, *, dim, shape):
    """Zeros of `shape` with each element of g added at the place along `dim` that `index` names: the gradient of gather."""
    shape = as_shape("add_along", shape)
    dim = as_dim("add_along", dim, len(shape))
    check_index("add_along", index, shape, dim)
    if g.shape != index.shape:
        raise ValueError(f"add_along: {g} must have the shape of index {index}")
    return Checked(g.with_shape(shape), {"dim": dim, "shape": shape})
