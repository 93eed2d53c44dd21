"""Elements taken at regular steps through a tensor, diagonals among them, and the ops that put them back: each the other's adjoint."""

import numpy as np

from flow_core.dtype import CATEGORIES, float32
from flow_core.op import Checked, define
from flow_core.spec import as_count, as_dim, as_shape, num_elements


def diagonal_kernel(x, /, *, offset, dim1, dim2):
    def run(a):
        out = np.diagonal(a, offset, dim1, dim2)
        out.flags.writeable = a.flags.writeable  # numpy hands it out read-only
        return out

    return run


def diagonal_attrs(name, x, offset, dim1, dim2):
    """(the number of elements on a diagonal, the other sizes, the attributes in normal form)."""
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise TypeError(f"{name}: offset is {offset!r}, expected an int")
    if x.ndim < 2:
        raise ValueError(f"{name}: {x} must have 2 dims at least")
    a, b = as_dim(name, dim1, x.ndim), as_dim(name, dim2, x.ndim)
    if a == b:
        raise ValueError(f"{name}: dim1 {dim1} and dim2 {dim2} are the same dim of {x}")
    rows, columns = x.shape[a], x.shape[b]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    others = [n for d, n in enumerate(x.shape) if d not in (a, b)]
    return count, others, {"offset": offset, "dim1": a, "dim2": b}


@define(diagonal_kernel, linear=(0,))
def diagonal(x, /, *, offset=0, dim1=0, dim2=1):
    """The elements of x whose index in dim2 is that in dim1 plus `offset`; their dim comes last, dim1 and dim2 are gone. A view."""
    count, others, attrs = diagonal_attrs("diagonal", x, offset, dim1, dim2)
    return Checked(x.with_shape((*others, count)), attrs)


def place_diagonal_kernel(v, /, *, shape, offset, dim1, dim2):
    def run(a):
        out = np.zeros(shape, v.dtype)
        diagonal = np.diagonal(out, offset, dim1, dim2)
        diagonal.flags.writeable = True
        diagonal[...] = a
        return out

    return run


@define(place_diagonal_kernel, linear=(0,))
def place_diagonal(v, /, *, shape, offset=0, dim1=0, dim2=1):
    """Zeros of `shape` with v on the diagonal that `diagonal` takes by the same attributes."""
    shape = as_shape("place_diagonal", shape)
    whole = v.with_shape(shape)
    count, others, attrs = diagonal_attrs("place_diagonal", whole, offset, dim1, dim2)
    if v.shape != (*others, count):
        raise ValueError(f"place_diagonal: {v} is not the diagonal of {whole}, which has shape {(*others, count)}")
    return Checked(whole, {"shape": shape, **attrs})


def strided_attrs(name, count, size, stride, offset):
    """The attributes in normal form; ValueError if they lead beyond `count` elements."""
    size = as_shape(name, size)
    steps = as_shape(name, stride)
    offset = as_count(name, "offset", offset)
    if len(size) != len(steps):
        raise ValueError(f"{name}: size {size} and stride {steps} differ in their number of dims")
    last = offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True))
    if num_elements(size) and last >= count:
        raise ValueError(
            f"{name}: size {size}, stride {steps} and offset {offset} lead to element {last}, and there are {count}"
        )
    return {"size": size, "stride": steps, "offset": offset}


def places(size, stride, offset):
    """The row-major place of each element that size, stride and offset name: ints of shape `size`."""
    out = np.asarray(offset)
    for d, (n, step) in enumerate(zip(size, stride, strict=True)):
        out = out + (np.arange(n) * step).reshape(-1, *(1,) * (len(size) - 1 - d))
    return np.broadcast_to(out, size)


def strided_kernel(x, /, *, size, stride, offset):
    steps = tuple(step * x.dtype.itemsize for step in stride)

    def run(a):
        flat = a.reshape(-1)
        if not num_elements(size):
            return np.zeros(size, x.dtype)
        return np.lib.stride_tricks.as_strided(flat[offset:], size, steps, writeable=flat.flags.writeable)

    return run


@define(strided_kernel, linear=(0,))
def strided(x, /, *, size, stride, offset=0):
    """out[i, j, ...] = element offset + i stride[0] + j stride[1] + ... of x in row-major order; of shape `size`.

    A view where x is contiguous. Strides are 0 or more; ValueError for those that lead out of x.
    """
    return Checked(x.with_shape(as_shape("strided", size)), strided_attrs("strided", x.size, size, stride, offset))


def add_strided_kernel(g, /, *, shape, size, stride, offset):
    where = places(size, stride, offset).reshape(-1)
    wide = float32 if g.dtype.itemsize == 2 and CATEGORIES[g.dtype] == 2 else g.dtype

    def run(a):
        out = np.zeros(num_elements(shape), wide)
        np.add.at(out, where, a.astype(wide, copy=False).reshape(-1))
        return out.astype(g.dtype, copy=False).reshape(shape)

    return run


@define(add_strided_kernel, linear=(0,))
def add_strided(g, /, *, shape, size, stride, offset=0):
    """Zeros of `shape` with each element of g added where `strided` takes it from by the same attributes."""
    shape = as_shape("add_strided", shape)
    attrs = strided_attrs("add_strided", num_elements(shape), size, stride, offset)
    if g.shape != attrs["size"]:
        raise ValueError(f"add_strided: {g} must have the shape {attrs['size']} that size says")
    return Checked(g.with_shape(shape), {"shape": shape, **attrs})
