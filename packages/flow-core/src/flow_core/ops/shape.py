"""Ops that rearrange elements without changing them. Where numpy can, the output is a view of the input."""

import numpy as np

from flow_core.dtype import promote
from flow_core.op import Checked, define
from flow_core.spec import as_dim, as_shape, num_elements


def as_view(function):
    """The binding of a numpy function of (array, attribute)."""

    def kernel(x, /, **attrs):
        (value,) = attrs.values()
        return lambda a: function(a, value)

    return kernel


@define(as_view(np.reshape), linear=(0,))
def reshape(x, /, *, shape):
    """x's elements in row-major order under another shape; one size may be -1. A view where x's memory allows, otherwise a copy."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    known = as_shape("reshape", tuple(n for n in sizes if n != -1))
    if len(sizes) - len(known) > 1:
        raise ValueError(f"reshape: shape {sizes} has several sizes of -1; one at most can be inferred")
    if len(known) < len(sizes):
        rest = num_elements(known)
        if rest == 0 or x.size % rest:
            raise ValueError(f"reshape: {x} has {x.size} elements, which shape {sizes} does not divide evenly")
        sizes = tuple(x.size // rest if n == -1 else n for n in sizes)
    if num_elements(sizes) != x.size:
        raise ValueError(f"reshape: {x} has {x.size} elements, shape {sizes} has {num_elements(sizes)}")
    return Checked(x.with_shape(sizes), {"shape": as_shape("reshape", sizes)})


@define(as_view(np.transpose), linear=(0,))
def permute(x, /, *, dims):
    """x with its dims in another order: dim i of the output is dim dims[i] of x. A view."""
    given = dims if isinstance(dims, tuple) else (dims,)
    order = tuple(as_dim("permute", d, x.ndim) for d in given)
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"permute: dims {given} are no order of the {x.ndim} dims of {x}")
    return Checked(x.with_shape([x.shape[d] for d in order]), {"dims": order})


def transpose_kernel(x, /, *, dim0, dim1):
    return lambda a: a.swapaxes(dim0, dim1) if a.ndim else a


@define(transpose_kernel, linear=(0,))
def transpose(x, /, *, dim0, dim1):
    """x with two dims exchanged. A view."""
    dim0, dim1 = as_dim("transpose", dim0, x.ndim), as_dim("transpose", dim1, x.ndim)
    shape = list(x.shape)
    if shape:
        shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    return Checked(x.with_shape(shape), {"dim0": dim0, "dim1": dim1})


def expand_kernel(x, /, *, shape):
    lead = len(shape) - x.ndim
    steps = [num_elements(x.shape[d + 1 :]) * x.dtype.itemsize for d in range(x.ndim)]
    strides = (0,) * lead + tuple([0 if n == 1 else step for n, step in zip(x.shape, steps, strict=True)])

    def run(a):
        if a.flags.c_contiguous:  # as broadcast_to, in a quarter of its time
            out = np.ndarray(shape, x.dtype, a, 0, strides)
        else:
            out = np.broadcast_to(a, shape)
        out.flags.writeable = False
        return out

    return run


@define(expand_kernel, linear=(0,))
def expand(x, /, *, shape):
    """x repeated along its dims of size 1, and along new leading dims, to `shape`; -1 keeps a size. A read-only view."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    lead = len(sizes) - x.ndim
    if lead < 0:
        raise ValueError(f"expand: shape {sizes} has fewer dims than {x}")
    old = (None,) * lead + x.shape
    out = tuple(o if n == -1 and o is not None else n for n, o in zip(sizes, old, strict=True))
    as_shape("expand", out)
    for d, (n, o) in enumerate(zip(out, old, strict=True)):
        if o not in (None, 1, n):
            raise ValueError(f"expand: size {o} of {x} cannot become {n} in dim {d} of {sizes}: only size 1 expands")
    return Checked(x.with_shape(out), {"shape": out})


def cat_kernel(*specs, dim):
    dtype = cat_dtype(specs)
    ndim = max(spec.ndim for spec in specs)
    if all(spec.ndim == ndim for spec in specs):
        return lambda *arrays: np.concatenate(arrays, axis=dim, dtype=dtype, casting="unsafe")
    joined = [i for i, spec in enumerate(specs) if spec.ndim == ndim]
    return lambda *arrays: np.concatenate([arrays[i] for i in joined], axis=dim, dtype=dtype, casting="unsafe")


def cat_dtype(specs):
    dtype = specs[0].dtype
    for spec in specs[1:]:
        dtype = promote(dtype, spec.dtype)
    return dtype


@define(cat_kernel, linear=(...,))
def cat(*tensors, dim=0):
    """Tensors joined along `dim`; the other sizes must agree, dtypes promote. Takes a list of tensors, or tensors one by one.

    Vectors of no elements go with tensors of any shape, as nothing.
    """
    if not tensors:
        raise ValueError("cat: no tensors given")
    joined = [t for t in tensors if t.shape != (0,)] or tensors
    first = joined[0]
    if first.ndim == 0:
        raise ValueError("cat: 0-d tensors have no dim to join along; use stack")
    dim = as_dim("cat", dim, first.ndim)
    for other in joined[1:]:
        if other.ndim != first.ndim or any(
            a != b for d, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if d != dim
        ):
            raise ValueError(f"cat: {first} and {other} differ in a dim other than dim {dim}")
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in joined)
    return Checked(first.with_shape(shape).with_dtype(cat_dtype(tensors)), {"dim": dim})


def split_kernel(x, /, *, sizes, dim):
    cuts = np.cumsum(sizes)[:-1]
    return lambda a: tuple(np.split(a, cuts, axis=dim))


@define(split_kernel, linear=(0,))
def split_sizes(x, /, *, sizes, dim):
    """x cut along `dim` into pieces of the given sizes, which must add up to x's. A tuple of views."""
    dim = as_dim("split", dim, x.ndim)
    sizes = as_shape("split", sizes)
    if not x.ndim or sum(sizes) != x.shape[dim] or not sizes:
        raise ValueError(f"split: sizes {sizes} add up to {sum(sizes)}, not to dim {dim} of {x}")
    outs = tuple(x.with_shape([*x.shape[:dim], n, *x.shape[dim + 1 :]]) for n in sizes)
    return Checked(outs, {"sizes": sizes, "dim": dim})


def split(x, split_size, dim=0):
    """x cut along `dim` into pieces of `split_size` (the last may be smaller), or of the given list of sizes. A tuple of views."""
    size = x.shape[as_dim("split", dim, x.ndim)] if x.ndim else 0
    if isinstance(split_size, (tuple, list)):
        return split_sizes(x, sizes=tuple(split_size), dim=dim)
    if isinstance(split_size, bool) or not isinstance(split_size, int) or split_size <= 0:
        raise ValueError(f"split: split_size {split_size!r} is not a positive int")
    full, rest = divmod(size, split_size)
    return split_sizes(x, sizes=(split_size,) * full + ((rest,) if rest or not full else ()), dim=dim)


def chunk(x, chunks, dim=0):
    """x cut along `dim` into at most `chunks` pieces of ceil(size / chunks). A tuple of views."""
    if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks <= 0:
        raise ValueError(f"chunk: chunks {chunks!r} is not a positive int")
    size = x.shape[as_dim("chunk", dim, x.ndim)] if x.ndim else 0
    return split(x, max(-(-size // chunks), 1), dim)


def squeeze(x, dim=None):
    """x without its dims of size 1: all of them, or those among `dim`. A view."""
    dims = (
        range(x.ndim)
        if dim is None
        else {as_dim("squeeze", d, x.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    )
    return reshape(x, shape=tuple(n for d, n in enumerate(x.shape) if d not in dims or n != 1))


def unsqueeze(x, dim):
    """x with a dim of size 1 put in before dim `dim` of the output. A view."""
    dim = as_dim("unsqueeze", dim, x.ndim + 1)
    return reshape(x, shape=(*x.shape[:dim], 1, *x.shape[dim:]))


def flatten(x, start_dim=0, end_dim=-1):
    """x with the dims from `start_dim` to `end_dim` made one."""
    start, end = as_dim("flatten", start_dim, x.ndim), as_dim("flatten", end_dim, x.ndim)
    if start > end:
        raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    return reshape(x, shape=(*x.shape[:start], num_elements(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def stack(tensors, dim=0):
    """Tensors of one shape joined along a new dim `dim`."""
    if not tensors:
        raise ValueError("stack: no tensors given")
    for t in tensors[1:]:
        if t.shape != tensors[0].shape:
            raise ValueError(f"stack: {tensors[0].spec} and {t.spec} differ in shape")
    return cat([unsqueeze(t, dim) for t in tensors], dim=as_dim("stack", dim, tensors[0].ndim + 1))


def unbind(x, dim=0):
    """The slices of x along `dim`, a tuple of views without that dim."""
    dim = as_dim("unbind", dim, x.ndim)
    if not x.ndim:
        raise ValueError("unbind: a 0-d tensor has no dim to take apart")
    if x.shape[dim] == 0:
        return ()
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    return tuple(reshape(piece, shape=shape) for piece in split_sizes(x, sizes=(1,) * x.shape[dim], dim=dim))
