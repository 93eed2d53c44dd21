"""A few of a matrix's eigenvalues or principal components, and the reflections of its QR decomposition; in terms of ops."""

from typing import NamedTuple

from flow_core.functions import factors
from flow_core.functions.triangles import adjoint, transposed
from flow_core.ops import decomposition, elementwise, index, reduce
from flow_core.ops import solve as solving
from flow_core.spec import as_count


class Reflections(NamedTuple):
    """What geqrf returns."""

    a: object
    tau: object


def geqrf(input):
    """(a, tau) as LAPACK has them: R in a's upper triangle; below it, and in tau, the reflections of Q, for householder_product and ormqr.

    They have no derivative: qr has.
    """
    return Reflections(*decomposition.geqrf(input))


def pca_lowrank(A, q=None, center=True, niter=2):
    """(U, S, V): about the q first principal components of the rows of A (*batch, m, n), V's columns; q is min(6, m, n) by default.

    With `center`, the mean row is taken off first. As svd_lowrank, by a random subspace. ValueError for a q beyond min(m, n).
    """
    solving.check_matrices("pca_lowrank", A)
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else as_count("pca_lowrank", "q", q)
    niter = as_count("pca_lowrank", "niter", niter)
    if q > min(m, n):
        raise ValueError(f"pca_lowrank: q is {q}, expected at most {min(m, n)}, the smaller side of {A.spec}")
    return factors.low_rank(elementwise.sub(A, reduce.mean(A, dim=-2, keepdim=True)) if center else A, q, niter)


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """(E, X): the k largest (or, with `largest` False, smallest) eigenvalues of symmetric A (*batch, m, m), falling (growing), and vectors.

    Of A x = e B x for positive definite B, where it is given. k is by default the number of columns of X, or 1. All eigenvalues are found
    directly, to rounding: what PyTorch's iteration starts and stops by (X, n, iK, niter, tol, method, ortho_...) changes nothing here,
    and a `tracker` of its steps is refused (TypeError). ValueError if m < 3 k, as there.
    """
    if tracker is not None:
        raise TypeError("lobpcg: tracker is not supported: eigenvalues are found directly, there are no steps to track")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f'lobpcg: method is {method!r}, expected "basic" or "ortho"')
    solving.check_square("lobpcg", A)
    if X is not None and (X.ndim != A.ndim or X.shape[:-1] != A.shape[:-1]):
        raise ValueError(f"lobpcg: X {X.spec} must have the batch and rows of A {A.spec}")
    if B is not None and B.spec is not A.spec:
        raise ValueError(f"lobpcg: B {B.spec} must have the shape and dtype of A {A.spec}")
    k = as_count("lobpcg", "k", k if k is not None else 1 if X is None else X.shape[-1])
    m = A.shape[-1]
    if m < 3 * k:
        raise ValueError(f"lobpcg: k is {k}, expected at most a third of the {m} rows of A {A.spec}")
    if B is None:
        values, vectors = decomposition.eigh(A)
    else:  # with B = L L^T and y = L^T x: (L^-1 A L^-T) y = e y
        low = factors.cholesky(B)
        half = solving.solve_triangular(low, A, upper=False)
        values, y = decomposition.eigh(solving.solve_triangular(low, adjoint(half), upper=False))
        vectors = solving.solve_triangular(transposed(low), y, upper=True)
    kept = slice(k) if largest is False else slice(None, -k - 1, -1)
    return index.getitem(values, (..., kept)), index.getitem(vectors, (..., kept))


# The names that flow_core takes over, and those that tensors have as methods.
__all__ = ["geqrf", "lobpcg", "pca_lowrank"]
METHODS = {"geqrf": geqrf}
