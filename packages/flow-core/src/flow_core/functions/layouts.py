"""Functions that take parts of a tensor by their place in memory or along its diagonals, and put them back; in terms of ops."""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_
from flow_core.op import recorder
from flow_core.ops import elementwise, shape, strided
from flow_core.ops.creation import full_as, sizes
from flow_core.ops.window import windows
from flow_core.spec import TensorSpec, as_dim, as_shape, num_elements
from flow_core.tensor import Tensor, from_numpy, new_tensor
from flow_core.writes import owner, wrote


def storage(x):
    """(the memory that plain x lies in, as a flat array of x's dtype; the place in it of x's first element)."""
    memory = owner(x.data)
    flat = memory.ravel(order="K")
    if not np.may_share_memory(flat, memory):  # with gaps: what can be reached is x itself
        flat = x.data.reshape(-1)
        return flat, 0
    flat = flat.view(x.dtype)
    start = x.data.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
    return flat, start // x.dtype.itemsize if x.spec.size else 0


def storage_offset(x):
    """The place of x's first element in the memory that it lies in, counted in elements."""
    return storage(x)[1]


def stride(x, dim=None):
    """How many elements lie between neighbours along each dim, a tuple; along one dim, an int."""
    strides = tuple([n // x.dtype.itemsize for n in x.data.strides])
    return strides if dim is None else strides[as_dim("stride", dim, x.ndim)]


def as_strided(x, size, stride, storage_offset=None):
    """The elements of the memory that x lies in, at storage_offset + i stride[0] + j stride[1] + ...; of shape `size`.

    A view. Without an offset it begins at x's first element. Where x requires grad, only x's own elements can be reached, and x must
    be dense. ValueError for what leads beyond.
    """
    size, stride = as_shape("as_strided", size), as_shape("as_strided", stride)
    if type(x) is not Tensor:
        return strided.strided(x, size=size, stride=stride, offset=storage_offset or 0)
    flat, start = storage(x)
    offset = start if storage_offset is None else storage_offset
    if not x.requires_grad or recorder.call is None:
        return strided.strided(
            new_tensor(flat, TensorSpec(flat.shape, x.dtype)), size=size, stride=stride, offset=offset
        )
    order = sorted(range(x.ndim), key=lambda d: -x.data.strides[d])
    if not x.data.transpose(order).flags.c_contiguous:
        raise ValueError(f"as_strided: {x.spec} requires grad and is not dense in memory: call x.contiguous() first")
    if offset < start:
        raise ValueError(f"as_strided: x requires grad and begins at place {start}; offset {offset} lies before it")
    dense = shape.permute(x, dims=tuple(order)) if order != sorted(order) else x
    return strided.strided(dense, size=size, stride=stride, offset=offset - start)


def as_strided_scatter(x, src, size, stride, storage_offset=None):
    """A copy of x with src (of shape `size`) where as_strided would take it from; x counts as contiguous."""
    size, stride = as_shape("as_strided_scatter", size), as_shape("as_strided_scatter", stride)
    attrs = {"shape": x.shape, "size": size, "stride": stride, "offset": storage_offset or 0}
    if src.shape != size:
        raise ValueError(f"as_strided_scatter: src is {src.spec}, expected shape {size}")
    ones = full_as(src.detach(), fill_value=1, dtype="int8")
    mask = elementwise.ne(strided.add_strided(ones, **attrs), 0)
    return elementwise.where(mask, strided.add_strided(as_type(src, x), **attrs), x)


def as_type(x, like):
    """x in the dtype of `like`."""
    return x if x.dtype is like.dtype else elementwise.cast(x, dtype=like.dtype)


def diagonal(x, offset=0, dim1=0, dim2=1):
    """The elements of x whose index in dim2 is that in dim1 plus `offset`; their dim comes last. A view."""
    return strided.diagonal(x, offset=offset, dim1=dim1, dim2=dim2)


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """Zeros with the rows of x (its last dim) on the diagonals of matrices that lie in dim1 and dim2 of the output."""
    if not x.ndim:
        raise ValueError("diag_embed: a 0-d tensor has no rows to make diagonals of")
    a, b = as_dim("diag_embed", dim1, x.ndim + 1), as_dim("diag_embed", dim2, x.ndim + 1)
    if a == b:
        raise ValueError(f"diag_embed: dim1 {dim1} and dim2 {dim2} are the same dim of the output")
    side, rest = x.shape[-1] + abs(offset), iter(x.shape[:-1])
    whole = tuple([side if d in (a, b) else next(rest) for d in range(x.ndim + 1)])
    return strided.place_diagonal(x, shape=whole, offset=offset, dim1=a, dim2=b)


def diag(x, diagonal=0):
    """Of a vector the matrix with it on that diagonal, of a matrix that diagonal, a view. ValueError for other numbers of dims."""
    if x.ndim == 1:
        return diag_embed(x, diagonal)
    if x.ndim != 2:
        raise ValueError(f"diag: {x.spec} must have 1 or 2 dims")
    return strided.diagonal(x, offset=diagonal)


def diagflat(x, offset=0):
    """The matrix with the elements of x in row-major order on its diagonal `offset`."""
    return diag_embed(shape.reshape(x, shape=(x.spec.size,)), offset)


def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    """A copy of x with src on the diagonal that `diagonal` takes by the same arguments."""
    attrs = {"shape": x.shape, "offset": offset, "dim1": dim1, "dim2": dim2}
    ones = full_as(src.detach(), fill_value=True, dtype=bool_)
    mask = strided.place_diagonal(ones, **attrs)
    return elementwise.where(mask, strided.place_diagonal(as_type(src, x), **attrs), x)


def tril(x, diagonal=0):
    """The matrices x (*batch, m, n) with 0 above diagonal `diagonal`."""
    return triangle("tril", x, diagonal, False)


def triu(x, diagonal=0):
    """The matrices x (*batch, m, n) with 0 below diagonal `diagonal`."""
    return triangle("triu", x, diagonal, True)


def triangle(name, x, diagonal, upper):
    if isinstance(diagonal, bool) or not isinstance(diagonal, int):
        raise TypeError(f"{name}: diagonal is {diagonal!r}, expected an int")
    if x.ndim < 2:
        raise ValueError(f"{name}: {x.spec} must have 2 dims at least")
    keep = np.tri(*x.shape[-2:], diagonal - upper, dtype=bool)
    return elementwise.where(from_numpy(~keep if upper else keep), x, x.dtype is not bool_ and 0)


def tril_indices(row, col, offset=0, *, dtype="int64", device=None, layout=None):
    """The places (2, count) of the lower triangle of a matrix (row, col), up to diagonal `offset`, row by row."""
    return triangle_indices("tril_indices", row, col, offset, dtype, np.tril_indices)


def triu_indices(row, col, offset=0, *, dtype="int64", device=None, layout=None):
    """The places (2, count) of the upper triangle of a matrix (row, col), from diagonal `offset` on, row by row."""
    return triangle_indices("triu_indices", row, col, offset, dtype, np.triu_indices)


def triangle_indices(name, row, col, offset, dtype, function):
    row, col = as_shape(name, (row, col))
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise TypeError(f"{name}: offset is {offset!r}, expected an int")
    places = from_numpy(np.stack(function(row, offset, col)).astype(np.int64))
    if CATEGORIES[elementwise.cast.infer(places.spec, dtype=dtype).out.dtype] != 1:
        raise TypeError(f"{name}: dtype {dtype} is no integer type")
    return elementwise.cast(places, dtype=dtype)


def unfold(x, dimension, size, step):
    """The windows of x along a dim: `size` elements every `step`, in a new last dim. A read-only view.

    x (..., n, ...) gives (..., (n - size) // step + 1, ..., size); a 0-d tensor counts as one element.
    """
    dim = as_dim("unfold", dimension, x.ndim)
    length = x.shape[dim] if x.ndim else 1
    if any(isinstance(n, bool) or not isinstance(n, int) for n in (size, step)):
        raise TypeError(f"unfold: size {size!r} and step {step!r} must be ints")
    if not 0 <= size <= length:
        raise ValueError(f"unfold: size {size} is not within 0 and {length}, the size of dim {dim} of {x.spec}")
    if step < 1:
        raise ValueError(f"unfold: step is {step}, expected 1 or more")
    if not x.ndim:
        return shape.reshape(x, shape=(1,))[:size]
    places = (length - size) // step + 1
    last = shape.transpose(x, dim0=dim, dim1=-1)  # (..., n)
    if size:
        parts = windows(last, kernel=(size,), stride=(step,), padding=((0, 0),), dilation=(1,))
    else:
        parts = full_as(last.detach(), fill_value=0, dtype=None).new_zeros((*last.shape[:-1], places, 0))
    return shape.transpose(parts, dim0=dim, dim1=x.ndim - 1)


def resize_(x, *size):
    """x itself with another shape, in place: its memory's first elements, or new memory with zeros after them where it is too small.

    ValueError for a tensor that requires grad.
    """
    size = as_shape("resize_", sizes(size))
    if type(x) is not Tensor or x.requires_grad:
        raise ValueError("resize_: it takes plain tensors that require no grad: call it on x.detach()")
    flat, start = storage(x)
    count = num_elements(size)
    if start + count > flat.size:
        grown = np.zeros(count, x.dtype)
        grown[: flat.size - start] = flat[start:]
        flat, start = grown, 0
    x.data = flat[start : start + count].reshape(size)
    x.spec = x.spec.with_shape(size)
    wrote(x.data)
    return x


def resize_as_(x, other):
    """resize_ to the shape of another tensor."""
    return resize_(x, other.shape)


# The names that flow_core takes over, and those that tensors have as methods.
METHOD_NAMES = (
    "as_strided as_strided_scatter diagonal diag_embed diag diagflat diagonal_scatter tril triu resize_as_".split()
)
__all__ = [*METHOD_NAMES, "tril_indices", "triu_indices"]
METHODS = {**{name: globals()[name] for name in METHOD_NAMES}, "unfold": unfold, "resize_": resize_}
# What only a plain tensor has: it shows its memory.
MEMORY = {"stride": stride, "storage_offset": storage_offset}
