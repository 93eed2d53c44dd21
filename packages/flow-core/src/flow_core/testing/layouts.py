"""The rows of CALLS for ops that take elements at steps, and for complex numbers and their parts."""

from hypothesis import strategies as st

from flow_core.dtype import complex64, complex128, float32, float64
from flow_core.testing.draw import BOOL, COMPLEX, FLOAT, INT


def matrix_dims(d, ndim):
    a, b = d.draw(st.permutations(range(ndim)))[:2]
    return {"offset": d.integer(-3, 3), "dim1": a - ndim * d.flag(), "dim2": b - ndim * d.flag()}


def diagonal(d):
    x = d.array(d.shape(min_dims=2), d.dtype(BOOL, INT, FLOAT, COMPLEX))
    return [x], matrix_dims(d, x.ndim)


def place_diagonal(d):
    shape = d.shape(min_dims=2)
    attrs = matrix_dims(d, len(shape))
    a, b = (attrs[name] % len(shape) for name in ("dim1", "dim2"))
    offset = attrs["offset"]
    count = max(min(shape[a] + min(offset, 0), shape[b] - max(offset, 0)), 0)
    others = [n for i, n in enumerate(shape) if i not in (a, b)]
    return [d.array((*others, count), d.dtype(INT, FLOAT))], {"shape": shape, **attrs}


def steps(d, count):
    """Size, stride and offset that stay within `count` elements."""
    size, stride, left = [], [], count - 1
    offset = d.integer(0, max(left, 0))
    left -= offset
    for _ in range(d.integer(0, 3)):
        step, n = d.integer(0, 3), d.integer(0, 3)
        n = n if count and (n == 0 or (n - 1) * step <= left) else min(n, 1) * (count > 0)
        left -= max(n - 1, 0) * step
        size.append(n)
        stride.append(step)
    if not count and 0 not in size:
        size, stride = [*size, 0], [*stride, 1]
    return {"size": tuple(size), "stride": tuple(stride), "offset": offset}


def strided(d):
    x = d.array(d.shape(), d.dtype(BOOL, INT, FLOAT, COMPLEX))
    return [x], steps(d, x.size)


def add_strided(d):
    shape = d.shape()
    count = 1
    for n in shape:
        count *= n
    attrs = steps(d, count)
    return [d.array(attrs["size"], d.dtype(INT, FLOAT))], {"shape": shape, **attrs}


def view_as_real(d):
    kinds = [t for t in (complex64, complex128) if t in d.dtypes] or [complex128]
    return [d.array(d.shape(), d.one_of(*kinds))], {}


def view_as_complex(d):
    kinds = [t for t in (float32, float64) if t in d.dtypes] or [float64]
    return [d.array((*d.shape(max_dims=2), 2), d.one_of(*kinds))], {}


LAYOUTS = {
    "diagonal": diagonal,
    "place_diagonal": place_diagonal,
    "strided": strided,
    "add_strided": add_strided,
    "view_as_real": view_as_real,
    "view_as_complex": view_as_complex,
}
