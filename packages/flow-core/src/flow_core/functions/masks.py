"""Elements chosen by conditions: masks, the places of what is not 0, where."""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, int64
from flow_core.functions.subscript import plain, require_tensors
from flow_core.functions.writing import as_value, in_place
from flow_core.ops import along, elementwise, scatter, shape
from flow_core.ops.creation import full
from flow_core.spec import as_count, as_shape, broadcast_shapes, num_elements
from flow_core.tensor import Tensor, from_numpy


def check_mask(name, mask):
    if not hasattr(mask, "spec") or mask.dtype is not bool_:
        raise TypeError(f"{name}: mask is {getattr(mask, 'spec', mask)}, expected a tensor of bools")


def fit(x, sizes):
    """x expanded to those sizes."""
    return x if x.shape == sizes else shape.expand(x, shape=sizes)


def masked_select(x, mask):
    """The elements of x where `mask` (bools) holds, in row-major order, as a vector; the shapes broadcast."""
    check_mask("masked_select", mask)
    sizes = broadcast_shapes("masked_select", x.shape, mask.shape)
    places = np.flatnonzero(np.broadcast_to(plain("masked_select", mask), sizes))
    flat = shape.reshape(fit(x, sizes), shape=(num_elements(sizes),))
    return scatter.at(flat, from_numpy(places.astype(int64, copy=False)), dims=(0,))


def masked_fill(x, mask, value):
    """x with `value` (a number or a 0-d tensor) where `mask` (bools) holds; the shapes of x and mask broadcast; of x's dtype.

    TypeError for a value that x's dtype cannot hold without loss: a float among integers, a number other than 0 or 1 among bools.
    """
    check_mask("masked_fill", mask)
    if getattr(value, "shape", ()) != ():
        raise ValueError(f"masked_fill: value is {value.spec}, expected a number or a 0-d tensor")
    if isinstance(value, complex) and CATEGORIES[x.dtype] < 3:
        raise TypeError(f"masked_fill: value {value} cannot be stored in {x.spec}")
    return elementwise.where(mask, as_value("masked_fill", value, x), x)


def masked_scatter(x, mask, source):
    """x with the elements of `source`, in row-major order, where `mask` (bools) holds; the shapes of x and mask broadcast.

    ValueError for fewer elements in source than places in the mask.
    """
    check_mask("masked_scatter", mask)
    require_tensors("masked_scatter", source=source)
    if source.dtype is not x.dtype:
        raise TypeError(f"masked_scatter: source {source.spec} must have the dtype of {x.spec}")
    sizes = broadcast_shapes("masked_scatter", x.shape, mask.shape)
    wide, chosen = fit(x, sizes), fit(mask, sizes)
    if type(mask) is Tensor and np.count_nonzero(chosen.data) > source.spec.size:
        raise ValueError(
            f"masked_scatter: source {source.spec} has fewer elements than the mask has places, {np.count_nonzero(chosen.data)}"
        )
    if not source.spec.size:
        return elementwise.cast(wide, dtype=x.dtype)
    count = num_elements(sizes)
    places = elementwise.sub(along.cumsum(shape.reshape(chosen, shape=(count,)), dim=0), 1)
    places = elementwise.maximum(shape.reshape(places, shape=sizes), 0)
    values = scatter.at(shape.reshape(source, shape=(source.spec.size,)), places, dims=(0,))
    return elementwise.where(chosen, values, wide)


def nonzero(x, *, as_tuple=False):
    """The places (n, ndim), int64 and in row-major order, of the elements that are not 0; with `as_tuple` a vector for each dim."""
    array = plain("nonzero", x)
    if not as_tuple:
        return from_numpy(np.argwhere(array).astype(int64, copy=False))
    return tuple([from_numpy(i.astype(int64, copy=False)) for i in np.nonzero(np.atleast_1d(array))])


def nonzero_static(x, *, size, fill_value=-1):
    """As nonzero, but always of `size` rows: the first places, and rows of `fill_value` where there are fewer."""
    size = as_count("nonzero_static", "size", size)
    places = np.argwhere(plain("nonzero_static", x))[:size]
    out = np.full((size, x.ndim), full((), fill_value, dtype=int64).item(), int64)
    out[: len(places)] = places
    return from_numpy(out)


def argwhere(x):
    """The places (n, ndim), int64 and in row-major order, of the elements that are not 0."""
    return nonzero(x)


def where(condition, input=None, other=None):
    """input where `condition` (bools) holds, other elsewhere: shapes broadcast, dtypes promote, both may be numbers.

    With a condition alone, the places where it is not 0, as a vector for each dim.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where: give both input and other, or neither")
    return elementwise.where(condition, input, other)


def unravel_index(indices, shape):
    """The coordinates, a tensor for each dim, of the flat row-major places `indices` in a tensor of `shape`; ValueError if out of range."""
    sizes = as_shape("unravel_index", shape)
    if not hasattr(indices, "spec") or CATEGORIES[indices.dtype] != 1:
        raise TypeError(
            f"unravel_index: indices are {getattr(indices, 'spec', indices)}, expected a tensor of integers"
        )
    flat = plain("unravel_index", indices)
    if flat.size and (flat.min() < 0 or flat.max() >= num_elements(sizes)):
        raise ValueError(f"unravel_index: indices from {flat.min()} to {flat.max()} are out of range for shape {sizes}")
    flat = flat.astype(np.uint64 if indices.dtype.kind == "u" else int64)  # a size may be beyond a small dtype
    out = []
    for n in reversed(sizes):
        rest = flat // max(n, 1)
        out.append(from_numpy(np.asarray(flat - rest * max(n, 1), indices.dtype)))
        flat = rest
    return tuple(reversed(out))


def one_hot(tensor, num_classes=-1):
    """int64 zeros (*shape, num_classes) with 1 at the class that each element (int64) names; -1 stands for one more than the largest."""
    if tensor.dtype is not int64:
        raise TypeError(f"one_hot: classes are {tensor.spec}, expected int64")
    if isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes < -1:
        raise ValueError(f"one_hot: num_classes is {num_classes!r}, expected an int of 0 or more, or -1")
    if not tensor.spec.size and num_classes < 1:
        raise ValueError("one_hot: num_classes must be given for a tensor without elements")
    if num_classes == -1 or type(tensor) is Tensor:
        classes = plain("one_hot", tensor)
        most = num_classes if num_classes != -1 else int(classes.max()) + 1
        if classes.size and (classes.min() < 0 or classes.max() >= most):
            raise ValueError(f"one_hot: classes from {classes.min()} to {classes.max()} are not all in [0, {most})")
        num_classes = most
    names = from_numpy(np.arange(num_classes))
    return elementwise.cast(elementwise.eq(shape.unsqueeze(tensor, -1), names), dtype=int64)


FUNCTIONS = {
    f.__name__: f
    for f in (
        masked_select,
        masked_fill,
        masked_scatter,
        nonzero,
        nonzero_static,
        argwhere,
        where,
        unravel_index,
        one_hot,
    )
}
METHODS = {
    **{name: f for name, f in FUNCTIONS.items() if name not in ("unravel_index", "one_hot", "where")},
    "where": lambda self, condition, other: where(condition, self, other),
    "masked_fill_": in_place("masked_fill", masked_fill),
    "masked_scatter_": in_place("masked_scatter", masked_scatter),
}
