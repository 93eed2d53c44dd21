"""gather, scatter and their kin: elements taken from and put to the places along a dim that an index tensor names.

Of a 0-d tensor all take it as one of one dim, as PyTorch does. Indices of gather, scatter and index_* are not counted from the end.
"""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, int64
from flow_core.functions.subscript import require_tensors
from flow_core.functions.writing import as_value, in_place
from flow_core.ops import along, binary, elementwise, scatter, shape
from flow_core.ops.creation import full, full_like
from flow_core.ops.index import slice_, slice_backward
from flow_core.spec import as_dim, broadcast_shapes
from flow_core.tensor import Tensor

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def lifted(x):
    """x, a 0-d one under the shape (1,)."""
    return x if x.shape else shape.reshape(x, shape=(1,))


def part(x, sizes):
    """The beginning of x, of those sizes."""
    if x.shape == tuple(sizes):
        return x
    return slice_(x, index=tuple([("slice", 0, n, None) for n in sizes]))


def as_index(name, index):
    """The index as an int64 tensor; TypeError for one that is not of int32 or int64, unless it is empty."""
    if not hasattr(index, "spec"):
        raise TypeError(f"{name}: index is a {type(index).__name__}, expected a tensor of int64")
    if index.dtype.name not in ("int64", "int32") and index.spec.size:
        raise TypeError(f"{name}: index is {index.spec}, expected int64 or int32")
    return index if index.dtype is int64 else elementwise.cast(index, dtype=int64)


def check_like(name, x, source):
    """Errors unless `source` is a tensor of x's dtype."""
    if not hasattr(source, "spec"):
        raise TypeError(f"{name}: source is a {type(source).__name__}, expected a tensor like {x.spec}")
    if source.dtype is not x.dtype:
        raise TypeError(f"{name}: source {source.spec} must have the dtype of {x.spec}")


def check_dims(name, x, other, what):
    if max(x.ndim, 1) != max(other.ndim, 1):
        raise ValueError(f"{name}: {what} {other.spec} must have as many dims as {x.spec}")


def gather(x, dim, index, *, sparse_grad=False):
    """The elements of x along `dim` that `index` names: out[i][j] = x[index[i][j]][j] for dim 0; of index's shape.

    Index may be smaller than x in the other dims. IndexError for an index out of range.
    """
    dim = as_dim("gather", dim, x.ndim)
    require_tensors("gather", index=index)
    if not index.spec.size:
        flat = shape.reshape(x, shape=(x.spec.size,))
        return shape.reshape(part(flat, (0,)), shape=index.shape)
    index = as_index("gather", index)
    check_dims("gather", x, index, "index")
    return shape.reshape(along.gather(lifted(x), lifted(index), dim=dim), shape=index.shape)


def take_along_dim(x, indices, dim=None):
    """The elements of x along `dim` that `indices` (int64) name, the shapes of both broadcast but for that dim; without one in flat x."""
    require_tensors("take_along_dim", indices=indices)
    if indices.dtype is not int64:
        raise TypeError(f"take_along_dim: indices are {indices.spec}, expected int64")
    if dim is None:
        return gather(shape.reshape(x, shape=(x.spec.size,)), 0, shape.reshape(indices, shape=(indices.spec.size,)))
    if x.ndim != indices.ndim:
        raise ValueError(f"take_along_dim: indices {indices.spec} must have as many dims as {x.spec}")
    dim = as_dim("take_along_dim", dim, x.ndim)
    rest = (
        broadcast_shapes("take_along_dim", *[(*t.shape[:dim], 1, *t.shape[dim + 1 :]) for t in (x, indices)])
        if x.ndim
        else ()
    )
    wide = [shape.expand(t, shape=(*rest[:dim], t.shape[dim], *rest[dim + 1 :])) if x.ndim else t for t in (x, indices)]
    if type(wide[1]) is Tensor and x.ndim:
        wide[1] = elementwise.where(elementwise.lt(wide[1], 0), elementwise.add(wide[1], x.shape[dim]), wide[1])
    return gather(wide[0], dim, wide[1])


def operands(name, x, dim, index, src):
    """(dim, index, src) for the ops along a dim: index int64, src of its shape, both of one dim at least; src may be a number."""
    dim, index = as_dim(name, dim, x.ndim), as_index(name, index)
    if index.spec.size:
        check_dims(name, x, index, "index")
        for d, n in enumerate(index.shape):
            if d != dim and n > x.shape[d]:
                raise ValueError(f"{name}: index {index.spec} is larger than {x.spec} in dim {d}")
    index = lifted(index)
    if not hasattr(src, "spec"):
        return dim, index, as_value(name, src, x)
    check_like(name, x, src)
    if not index.spec.size:
        return dim, index, shape.reshape(part(shape.reshape(src, shape=(src.spec.size,)), (0,)), shape=index.shape)
    check_dims(name, x, src, "source")
    if any(n > m for n, m in zip(index.shape, lifted(src).shape, strict=True)):
        raise ValueError(f"{name}: index {index.spec} is larger than source {src.spec}")
    return dim, index, part(lifted(src), index.shape)


def scatter_to(x, dim, index, src=None, *, value=None, reduce=None):
    """x with the elements of src (a tensor, or a number) at the places along `dim` that `index` names; of equal places the last stays.

    With reduce "add" or "multiply" they are added to or multiplied with what x has. IndexError for an index out of range.
    """
    if (src is None) == (value is None):
        raise TypeError("scatter: give src, a tensor or a number, or value")
    if reduce not in (None, "add", "multiply"):
        raise ValueError(f'scatter: reduce is {reduce!r}, expected "add", "multiply" or None')
    dim, index, src = operands("scatter", x, dim, index, value if src is None else src)
    if not index.spec.size:
        return elementwise.cast(x, dtype=x.dtype)
    src = shape.expand(src, shape=index.shape) if src.shape != index.shape else src
    if reduce is not None:
        return combined(x, dim, index, src, "sum" if reduce == "add" else "prod", True)
    return shape.reshape(scatter.put_along(lifted(x), src, index, dim=dim), shape=x.shape)


def scatter_add(x, dim, index, src):
    """x with the elements of src added at the places along `dim` that `index` names."""
    dim, index, src = operands("scatter_add", x, dim, index, src)
    return combined(x, dim, index, src, "sum", True)


def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    """x with the elements of src combined at the places along `dim` that `index` names: "sum", "prod", "mean", "amax" or "amin".

    What x has there counts too, or not without `include_self`; a place that no index names keeps what it has. Means of integers are
    rounded down.
    """
    if reduce not in REDUCTIONS:
        raise ValueError(f"scatter_reduce: reduce is {reduce!r}, expected one of {', '.join(REDUCTIONS)}")
    if CATEGORIES[x.dtype] == 3 and reduce in ("amax", "amin"):
        raise TypeError(f"scatter_reduce: {x.spec} holds complex numbers, which have no order")
    dim, index, src = operands("scatter_reduce", x, dim, index, src)
    return combined(x, dim, index, src, reduce, include_self)


def neutral(reduce, dtype):
    """What changes nothing when it is combined."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if CATEGORIES[dtype] == 2:
        return -np.inf if reduce == "amax" else np.inf
    if dtype is bool_:
        return reduce == "amin"
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


def combined(x, dim, index, src, reduce, include_self):
    """x with src combined at the places of `index`; both of one dim at least, and of one shape."""
    if not index.spec.size:
        return elementwise.cast(x, dtype=x.dtype)
    out = lifted(x)
    if not include_self:
        touched = scatter.put_along(
            full_like(out, False, dtype=bool_), full_like(src, True, dtype=bool_), index, dim=dim
        )
        identity = full((), neutral(reduce, x.dtype), dtype=x.dtype)
        out = elementwise.where(touched, identity, out)
    if reduce in ("sum", "mean"):
        total = elementwise.add(out, along.add_along(src, index, dim=dim, shape=out.shape))
        if reduce == "mean":
            ones = along.add_along(full_like(src, 1, dtype=int64), index, dim=dim, shape=out.shape)
            count = elementwise.add(ones, 1) if include_self else elementwise.maximum(ones, 1)
            whole = CATEGORIES[x.dtype] < 2
            total = (binary.floor_divide if whole else elementwise.div)(total, elementwise.cast(count, dtype=x.dtype))
        out = total
    else:
        out = scatter.combine_along(out, src, index, dim=dim, reduce=reduce)
    return shape.reshape(out, shape=x.shape)


def select_scatter(x, src, dim, index):
    """x with src in place of its slice at `index` along `dim`."""
    dim = as_dim("select_scatter", dim, x.ndim)
    return replaced("select_scatter", x, src, dim, index)


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    """x with src in place of its slices start:end:step along `dim`."""
    dim = as_dim("slice_scatter", dim, x.ndim)
    if step < 1:
        raise ValueError(f"slice_scatter: step is {step}, expected 1 or more")
    return replaced("slice_scatter", x, src, dim, ("slice", start, end, step))


def replaced(name, x, src, dim, item):
    """x with src where an item of a basic index stands along `dim`."""
    require_tensors(name, src=src)
    if not x.ndim:
        raise ValueError(f"{name}: a 0-d tensor has no slices")
    if not hasattr(item, "__len__") and not -x.shape[dim] <= item < x.shape[dim]:
        raise IndexError(f"{name}: index {item} is out of range for dim {dim} of {x.spec}")
    index = tuple([item if d == dim else ("slice", None, None, None) for d in range(x.ndim)])
    wanted = slice_.infer(x.spec, index=index).out.shape
    if src.shape != wanted:
        raise ValueError(f"{name}: source {src.spec} must have the shape {wanted} of what it stands in for")
    src = src if src.dtype is x.dtype else elementwise.cast(src, dtype=x.dtype)
    chosen = slice_backward(full_like(src, True, dtype=bool_), index=index, shape=x.shape)
    return elementwise.where(chosen, slice_backward(src, index=index, shape=x.shape), x)


FUNCTIONS = {
    "scatter": scatter_to,
    **{f.__name__: f for f in (gather, take_along_dim, scatter_add, scatter_reduce, select_scatter, slice_scatter)},
}
WRITERS = "scatter scatter_add scatter_reduce".split()
METHODS = {**FUNCTIONS, **{f"{name}_": in_place(name, FUNCTIONS[name]) for name in WRITERS}}
