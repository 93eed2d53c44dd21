"""index_select, index_add, index_put, take, put and their kin: slices along a dim, or elements, that index tensors name."""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, int64
from flow_core.functions.placing import REDUCTIONS, as_index, check_like, combined, lifted
from flow_core.functions.subscript import Subscript, apart, require_tensors, taken
from flow_core.functions.writing import as_value, in_place
from flow_core.ops import along, elementwise, scatter, shape
from flow_core.ops.creation import full, full_like
from flow_core.spec import as_dim, broadcast_shapes
from flow_core.tensor import Tensor


def row_index(name, x, dim, index):
    """(dim, the index as an int64 vector); IndexError for an index that is not in [0, size)."""
    dim, index = as_dim(name, dim, x.ndim), as_index(name, index)
    if index.ndim > 1:
        raise ValueError(f"{name}: index is {index.spec}, expected one dim at most")
    if type(index) is Tensor:
        along.check_places(name, index.data, lifted(x).shape[dim])
    return dim, lifted(index)


def index_select(x, dim, index):
    """The slices of x along `dim` that `index` (a vector) names, in its order. IndexError for an index out of range."""
    dim, index = row_index("index_select", x, dim, index)
    out = scatter.at(lifted(x), index, dims=(dim,))
    if x.ndim:
        return out
    if index.shape != (1,):
        raise ValueError(f"index_select: index {index.spec} must have one element for the 0-d {x.spec}")
    return shape.reshape(out, shape=())


def sources(name, x, dim, index, source):
    """(dim, index, source) for the ops on slices; errors unless source has x's dtype, and its shape but for the number of slices."""
    dim, index = row_index(name, x, dim, index)
    check_like(name, x, source)
    wanted = (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :])
    if lifted(source).shape != wanted:
        raise ValueError(f"{name}: source {source.spec} must have the shape {wanted}: x's, with a slice for each index")
    return dim, index, lifted(source)


def index_add(x, dim, index, source, *, alpha=1):
    """x with `alpha` times the slices of `source` added to the slices along `dim` that `index` names."""
    dim, index, source = sources("index_add", x, dim, index, source)
    if isinstance(alpha, (float, complex)) and CATEGORIES[x.dtype] < (3 if isinstance(alpha, complex) else 2):
        raise TypeError(f"index_add: alpha {alpha!r} would not leave {x.spec} its dtype")
    if isinstance(alpha, bool) and x.dtype is not bool_:
        raise TypeError(f"index_add: alpha {alpha} is a bool, and {x.spec} holds numbers")
    if alpha is not True and alpha != 1:
        source = elementwise.cast(elementwise.mul(source, alpha), dtype=x.dtype)
    added = scatter.add_to(source, index, dims=(dim,), shape=lifted(x).shape)
    return elementwise.add(x, shape.reshape(added, shape=x.shape))


def index_copy(x, dim, index, source):
    """x with the slices of `source` in place of the slices along `dim` that `index` names."""
    dim, index, source = sources("index_copy", x, dim, index, source)
    return shape.reshape(scatter.put_at(lifted(x), source, index, dims=(dim,)), shape=x.shape)


def index_fill(x, dim, index, value):
    """x with `value` (a number or a 0-d tensor) in the slices along `dim` that `index` names, negative ones from the end."""
    dim, index = as_dim("index_fill", dim, x.ndim), as_index("index_fill", index)
    if index.ndim > 1:
        raise ValueError(f"index_fill: index is {index.spec}, expected one dim at most")
    if getattr(value, "shape", ()) != ():
        raise ValueError(f"index_fill: value is {value.spec}, expected a number or a 0-d tensor")
    value, nothing = as_value("index_fill", value, x), full_like(lifted(x), False, dtype=bool_)
    filled = scatter.put_at(nothing, full((), True), lifted(index), dims=(dim,))
    return elementwise.where(shape.reshape(filled, shape=x.shape), value, x)


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    """x with the slices of `source` combined with those along `dim` that `index` names, as in scatter_reduce: all but "sum"."""
    if reduce not in REDUCTIONS[1:]:
        raise ValueError(f"index_reduce: reduce is {reduce!r}, expected one of {', '.join(REDUCTIONS[1:])}")
    if CATEGORIES[x.dtype] == 3 and reduce in ("amax", "amin"):
        raise TypeError(f"index_reduce: {x.spec} holds complex numbers, which have no order")
    dim, index, source = sources("index_reduce", x, dim, index, source)
    beside = shape.reshape(index, shape=tuple([-1 if d == dim else 1 for d in range(source.ndim)]))
    return combined(x, dim, shape.expand(beside, shape=source.shape), source, reduce, include_self)


def index_put(x, indices, values, accumulate=False):
    """x with `values` at x[indices], a tuple of index tensors, masks and Nones (whole dims); added to what is there with `accumulate`."""
    subscript = as_indices("index_put", x, indices)
    check_like("index_put", x, values)
    num_dims = scatter.landing(x.shape, subscript.dims, np.broadcast_shapes(*[i.shape for i in subscript.ids]))
    if accumulate:
        return elementwise.add(x, added(shape.expand(values, shape=num_dims), x, subscript))
    return scatter.put_at(x, values, *subscript.ids, dims=subscript.dims)


def added(values, x, subscript):
    """Zeros like x with the values added at a Subscript."""
    return scatter.add_to(values, *subscript.ids, dims=subscript.dims, shape=x.shape)


def as_indices(name, x, indices):
    """The Subscript of a sequence of index tensors, masks and Nones."""
    if not isinstance(indices, (tuple, list)) or not all(i is None or hasattr(i, "spec") for i in indices):
        raise TypeError(f"{name}: indices must be a tuple of tensors, with None for a dim that is taken whole")
    whole = slice(None)
    items = tuple(
        [whole if i is None else lifted(i) if CATEGORIES[i.dtype] == 1 and not i.ndim else i for i in indices]
    )
    subscript = apart(x, items)
    if not subscript.ids:
        raise ValueError(f"{name}: no index tensor is given")
    if any(i.ndim == 0 for i in indices if i is not None and CATEGORIES[i.dtype] == 1) and all(
        i is None or i.ndim == 0 for i in indices
    ):  # 0-d indices take their dims away
        subscript = Subscript(
            subscript.basic, tuple([shape.reshape(i, shape=()) for i in subscript.ids]), subscript.dims
        )
    return subscript


def _unsafe_masked_index(x, mask, indices, fill):
    """x[indices] where `mask` holds, `fill` elsewhere, where indices may be out of range."""
    require_tensors("_unsafe_masked_index", x=x, mask=mask)
    subscript = as_indices("_unsafe_masked_index", x, clamped(x, indices))
    if not x.spec.size:
        wide = broadcast_shapes("_unsafe_masked_index", mask.shape, *[i.shape for i in subscript.ids])
        return full(wide, fill, dtype=x.dtype)
    return elementwise.where(mask, taken(x, subscript), as_value("_unsafe_masked_index", fill, x))


def _unsafe_masked_index_put_accumulate(x, mask, indices, values):
    """x with those of `values` where `mask` holds added at x[indices], which may be out of range elsewhere."""
    require_tensors("_unsafe_masked_index_put_accumulate", x=x, mask=mask, values=values)
    if not x.spec.size:
        return elementwise.cast(x, dtype=x.dtype)
    zero = full((), 0, dtype=values.dtype)
    return index_put(x, clamped(x, indices), elementwise.where(mask, values, zero), True)


def clamped(x, indices):
    """The index tensors, as int64, with those out of range of their dims brought to the nearest place."""
    near = []
    for size, i in zip(x.shape, indices, strict=False):
        if i is not None:
            require_tensors("_unsafe_masked_index", index=i)
            i = elementwise.maximum(elementwise.cast(i, dtype=int64), -max(size, 1))
            i = elementwise.minimum(i, max(size, 1) - 1)
        near.append(i)
    return near


def take(x, index):
    """The elements of x, in row-major order, at the places `index` (int64, negative ones from the end); of index's shape."""
    require_tensors("take", index=index)
    if index.dtype is not int64:
        raise TypeError(f"take: index is {index.spec}, expected int64")
    return scatter.at(shape.reshape(x, shape=(x.spec.size,)), index, dims=(0,))


def put(x, index, source, accumulate=False):
    """x with the elements of `source` at the places `index` (int64) of the flattened x, or added there with `accumulate`."""
    require_tensors("put", index=index)
    if index.dtype is not int64:
        raise TypeError(f"put: index is {index.spec}, expected int64")
    check_like("put", x, source)
    if source.spec.size != index.spec.size:
        raise ValueError(f"put: source {source.spec} and index {index.spec} must have as many elements")
    flat = shape.reshape(x, shape=(x.spec.size,))
    source = shape.reshape(source, shape=index.shape)
    if accumulate:
        out = elementwise.add(flat, scatter.add_to(source, index, dims=(0,), shape=flat.shape))
    else:
        out = scatter.put_at(flat, source, index, dims=(0,))
    return shape.reshape(out, shape=x.shape)


FUNCTIONS = {
    f.__name__: f
    for f in (
        index_select, index_add, index_copy, index_fill, index_reduce, index_put, take, put,
        _unsafe_masked_index, _unsafe_masked_index_put_accumulate,
    )
}  # fmt: skip
WRITERS = "index_add index_copy index_fill index_reduce index_put put".split()
METHODS = {
    **{name: f for name, f in FUNCTIONS.items() if not name.startswith("_")},
    **{f"{name}_": in_place(name, FUNCTIONS[name]) for name in WRITERS},
}
