"""The linear algebra extension: matrices in the last two axes, the others batches; dtypes promote."""

import flow_core as flow
from flow_core.array_api.dtypes import promoted
from flow_core.array_api.statistical import sum as total
from flow_core.spec import as_dim


def cholesky(x, /, *, upper=False):
    """The triangular factor of positive definite matrices. ValueError if one is not."""
    return flow.linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross products of vectors of 3 along an axis; the other axes broadcast."""
    ndim = max(x1.ndim, x2.ndim)
    x1, x2 = (flow.reshape(x, shape=(1,) * (ndim - x.ndim) + x.shape) if axis < 0 else x for x in promoted(x1, x2))
    return flow.linalg.cross(x1, x2, dim=axis)


def det(x, /):
    """The determinants."""
    return flow.linalg.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of the matrices, `offset` above the main one. A view."""
    rows, columns = x.shape[-2:]
    i, j = max(-offset, 0), max(offset, 0)
    k = max(min(rows - i, columns - j), 0)
    square = x[..., i : i + k, j : j + k]
    return flow.reshape(square, shape=(*x.shape[:-2], k * k))[..., :: k + 1]


def eig(x, /):
    """(eigenvalues, eigenvectors as columns) of square matrices, complex and in no order. From the standard's 2025.12."""
    return flow.linalg.eig(x)


def eigvals(x, /):
    """The complex eigenvalues of square matrices, in no order. From the standard's 2025.12."""
    return flow.linalg.eigvals(x)


def eigh(x, /):
    """(eigenvalues, eigenvectors as columns) of Hermitian matrices, growing."""
    return flow.linalg.eigh(x)


def eigvalsh(x, /):
    """The eigenvalues of Hermitian matrices, growing."""
    return flow.linalg.eigvalsh(x)


def inv(x, /):
    """The inverses. ValueError for a singular matrix."""
    return flow.linalg.inv(x)


def matmul(x1, x2, /):
    """The products of matrices, or of vectors and matrices; batches broadcast."""
    return flow.matmul(*promoted(x1, x2))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf."""
    return flow.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """The matrices to a whole power, negative ones by their inverses."""
    return flow.linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """The number of singular values above rtol (max(m, n) * eps without one) times the largest."""
    return flow.linalg.matrix_rank(x, rtol=rtol)


def matrix_transpose(x, /):
    """The matrices transposed. A view."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: {x.spec} has {x.ndim} dims, expected 2 or more")
    return flow.transpose(x, dim0=-2, dim1=-1)


def outer(x1, x2, /):
    """All products of the elements of two vectors."""
    return flow.outer(x1, x2)


def pinv(x, /, *, rtol=None):
    """The pseudo-inverses; singular values up to rtol (max(m, n) * eps without one) times the largest count as 0."""
    return flow.linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """(Q, R) with x = Q R; mode "reduced" or "complete"."""
    return flow.linalg.qr(x, mode)


def slogdet(x, /):
    """(sign, logabsdet) of the determinants."""
    return flow.linalg.slogdet(x)


def solve(x1, x2, /):
    """The x of x1 x = x2; x2 is a vector if it has one axis, else matrices; batches broadcast. ValueError for a singular matrix."""
    a, b = promoted(x1, x2)
    if b.ndim == 1:
        return flow.squeeze(solve(a, flow.unsqueeze(b, 1)), -1)
    batch = flow.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return flow.linalg.solve(*[flow.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (a, b)])


def svd(x, /, *, full_matrices=True):
    """(U, S, Vh) with x = U diag(S) Vh, S falling."""
    return flow.linalg.svd(x, full_matrices)


def svdvals(x, /):
    """The singular values, falling."""
    return flow.linalg.svdvals(x)


def tensordot(x1, x2, /, *, axes=2):
    """The sums of products over `axes`: the last ones of x1 and first ones of x2 if an int, else two sequences of them."""
    return flow.tensordot(*promoted(x1, x2), axes)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the matrices' diagonals; dtypes as for sum."""
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1, x2, /, *, axis=-1):
    """The sums over an axis of conj(x1) * x2; the other axes broadcast."""
    x1, x2 = promoted(x1, x2)
    for x in (x1, x2):
        as_dim("vecdot", axis, x.ndim)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: {x1.spec} and {x2.spec} have sizes {x1.shape[axis]}, {x2.shape[axis]} along {axis}")
    return flow.cast(flow.linalg.vecdot(x1, x2, dim=axis), dtype=x1.dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of order `ord`, any number, over an axis, several, or all."""
    if axis == ():
        return flow.linalg.vector_norm(flow.unsqueeze(x, 0), ord, 0)
    return flow.linalg.vector_norm(x, ord, axis, keepdims)
