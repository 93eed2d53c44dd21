"""Parts of matrices: triangles, diagonals, transposes; in terms of ops, over the last two dims."""

import numpy as np

from flow_core.ops import decomposition, elementwise, index, shape
from flow_core.tensor import from_numpy


def lower(x, k=0):
    """x with 0 above its diagonal k."""
    return elementwise.where(from_numpy(np.tri(*x.shape[-2:], k, dtype=bool)), x, 0)


def upper(x, k=0):
    """x with 0 below its diagonal k."""
    return elementwise.where(from_numpy(~np.tri(*x.shape[-2:], k - 1, dtype=bool)), x, 0)


def diagonal(x):
    """The main diagonals (*batch, k) of x (*batch, m, n), k = min(m, n)."""
    k = min(x.shape[-2:])
    square = index.getitem(x, (..., slice(k), slice(k)))
    flat = shape.reshape(square, shape=(*x.shape[:-2], k * k))
    return index.getitem(flat, (..., slice(None, None, k + 1)))


def embedded(v):
    """The matrices (*batch, n, n) with diagonals v (*batch, n) and 0 elsewhere."""
    return elementwise.where(identity_mask(v.shape[-1]), shape.unsqueeze(v, -1), 0)


def identity_mask(n):
    """Bools (n, n), true on the diagonal."""
    return from_numpy(np.eye(n, dtype=bool))


def identity(like):
    """The identity, in the dtype of the matrices `like`, of as many columns."""
    return from_numpy(np.eye(like.shape[-1], dtype=like.dtype))


def conj(x):
    """x, conjugated where it is complex."""
    return decomposition.conjugate(x) if x.dtype.kind == "c" else x


def transposed(x):
    """The matrices transposed."""
    return shape.transpose(x, dim0=-2, dim1=-1)


def adjoint(x):
    """The matrices transposed, and conjugated where they are complex."""
    return conj(transposed(x))
