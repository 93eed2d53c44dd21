"""Decompositions of matrices as PyTorch's linalg has them, in terms of ops. Leading dims are batches; dtypes are LAPACK's four."""

from typing import NamedTuple

from flow_core.dtype import float32
from flow_core.functions.noise import randn
from flow_core.functions.triangles import adjoint, conj, identity, lower, transposed, upper
from flow_core.ops import creation, decomposition, elementwise, index, linalg, reduce, shape, solve


class CholeskyResult(NamedTuple):
    """What cholesky_ex returns."""

    L: object
    info: object


class QRResult(NamedTuple):
    """What qr returns."""

    Q: object
    R: object


class EigenResult(NamedTuple):
    """What eig and eigh return."""

    eigenvalues: object
    eigenvectors: object


class SVDResult(NamedTuple):
    """What linalg.svd returns."""

    U: object
    S: object
    Vh: object


class SVD(NamedTuple):
    """What flow.svd returns: V, not its adjoint."""

    U: object
    S: object
    V: object


class LUResult(NamedTuple):
    """What linalg.lu returns."""

    P: object
    L: object
    U: object


class LUFactors(NamedTuple):
    """What lu_factor returns."""

    LU: object
    pivots: object


class LUFactorsInfo(NamedTuple):
    """What lu_factor_ex returns."""

    LU: object
    pivots: object
    info: object


class LDLFactors(NamedTuple):
    """What ldl_factor returns."""

    LD: object
    pivots: object


class LDLFactorsInfo(NamedTuple):
    """What ldl_factor_ex returns."""

    LD: object
    pivots: object
    info: object


def cholesky(A, *, upper=False):
    """The lower triangular L with A = L L^H (or its adjoint, with `upper`). ValueError unless A is positive definite."""
    return decomposition.cholesky(A, upper=upper)[0]


def cholesky_ex(A, *, upper=False, check_errors=False):
    """(L, info): info (int32) is 0, or the order of the leading minor that is not positive definite."""
    return CholeskyResult(*decomposition.cholesky(A, upper=upper, check=check_errors))


def cholesky_of(input, upper=False):
    """As linalg.cholesky, with `upper` by position."""
    return cholesky(input, upper=upper)


def cholesky_solve(B, L, upper=False):
    """The x of A x = B, where L is the Cholesky factor of A. Its gradient is that of A = L L^H, as if all of L was read."""
    return solve.cholesky_solve(B, L, upper=upper)


def cholesky_inverse(L, upper=False):
    """The inverse of A, where L is the Cholesky factor of A."""
    solve.check_square("cholesky_inverse", L)
    return cholesky_solve(elementwise.add(creation.zeros_like(L), identity(L)), L, upper)


def qr(A, mode="reduced"):
    """(Q, R) with A = Q R. mode "reduced" (k = min(m, n) columns of Q), "complete" (m), or "r" (Q is empty)."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'qr: mode is {mode!r}, expected "reduced", "complete" or "r"')
    q, r = decomposition.qr(A, complete=mode == "complete")
    return QRResult(creation.zeros((0,), dtype=A.dtype) if mode == "r" else q, r)


def qr_of(input, some=True):
    """(Q, R): reduced, or complete unless `some`."""
    return qr(input, "reduced" if some else "complete")


def in_upper(name, UPLO):
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f'{name}: UPLO is {UPLO!r}, expected "L" or "U"')
    return UPLO in "Uu"


def eigh(A, UPLO="L"):
    """(eigenvalues, growing; eigenvectors as columns) of Hermitian A, of which the triangle UPLO is read."""
    return EigenResult(*decomposition.eigh(A, upper=in_upper("eigh", UPLO)))


def eigvalsh(A, UPLO="L"):
    """The eigenvalues of Hermitian A, growing."""
    return decomposition.eigh(A, upper=in_upper("eigvalsh", UPLO))[0]


def eig(A):
    """(eigenvalues, eigenvectors as columns) of square A, complex and in no order."""
    return EigenResult(*decomposition.eig(A))


def eigvals(A):
    """The complex eigenvalues of square A."""
    return decomposition.eig(A)[0]


def svd(A, full_matrices=True, *, driver=None):
    """(U, S, V^H) with A = U diag(S) V^H, S falling. `driver`, cuSOLVER's in PyTorch, must be None."""
    if driver is not None:
        raise ValueError(f"svd: driver is {driver!r}, expected None on the CPU")
    return SVDResult(*decomposition.svd(A, full_matrices=full_matrices))


def svdvals(A, *, driver=None):
    """The singular values of A, falling."""
    return svd(A, False, driver=driver)[1]


def svd_of(input, some=True, compute_uv=True):
    """(U, S, V) with V not transposed; reduced if `some`. Without `compute_uv`, U and V are zeros."""
    u, s, vh = decomposition.svd(input, full_matrices=not some and compute_uv)
    if compute_uv:
        return SVD(u, s, adjoint(vh))
    *batch, m, n = input.shape
    u, v = (creation.zeros((*batch, k, k), dtype=input.dtype) for k in (m, n))
    return SVD(u, s, v)


def no_pivots(name, pivot):
    if not pivot:
        raise ValueError(f"{name}: pivot=False is not possible on the CPU")


def lu_factor(A, *, pivot=True):
    """(LU, pivots) of elimination with row exchanges; ValueError if U is singular."""
    no_pivots("lu_factor", pivot)
    return LUFactors(*solve.lu_factor(A, check=True)[:2])


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(LU, pivots, info): info (int32) is 0, or the place of the first 0 on the diagonal of U."""
    no_pivots("lu_factor_ex", pivot)
    return LUFactorsInfo(*solve.lu_factor(A, check=check_errors))


def lu_of(input, pivot=True, get_infos=False):
    """(LU, pivots), ValueError if U is singular; or with `get_infos` (LU, pivots, info)."""
    no_pivots("lu", pivot)
    out = solve.lu_factor(input, check=not get_infos)
    return LUFactorsInfo(*out) if get_infos else LUFactors(*out[:2])


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) from lu_factor's result; parts that are not asked for are empty."""
    solve.check_matrices("lu_unpack", LU_data)
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    empty = creation.zeros((0,), dtype=LU_data.dtype)
    p = solve.permutation(LU_pivots, rows=m, dtype=LU_data.dtype) if unpack_pivots else empty
    if not unpack_data:
        return LUResult(p, empty, empty)
    left = index.getitem(LU_data, (..., slice(k)))
    eye = elementwise.cast(identity_of(m, k), dtype=LU_data.dtype)
    return LUResult(
        p, elementwise.add(lower(left, -1), eye), upper(index.getitem(LU_data, (..., slice(k), slice(None))))
    )


def identity_of(m, n):
    """The bools (m, n), true on the diagonal."""
    rows, columns = creation.arange(m), creation.arange(n)
    return elementwise.eq(shape.unsqueeze(rows, -1), columns)


def lu(A, *, pivot=True):
    """(P, L, U) with A = P L U."""
    no_pivots("lu", pivot)
    data, pivots, _ = solve.lu_factor(A, check=False)
    return lu_unpack(data, pivots)


def ldl_factor(A, *, hermitian=False):
    """(LD, pivots) of symmetric (or Hermitian) A = L D L^T; ValueError if D is singular."""
    return LDLFactors(*solve.ldl_factor(A, hermitian=hermitian, check=True)[:2])


def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """(LD, pivots, info): info (int32) is 0, or the place of the first block of D that is 0."""
    return LDLFactorsInfo(*solve.ldl_factor(A, hermitian=hermitian, check=check_errors))


def ldl_solve(LD, pivots, B, *, hermitian=False):
    """The x of A x = B from ldl_factor of A."""
    return solve.ldl_solve(LD, pivots, B, hermitian=hermitian)


def householder_product(A, tau):
    """The first n columns of H1 H2 ... Hk, Hi = 1 - tau_i v_i v_i^H, v_i being column i of A (*batch, m, n) below its 1 on the diagonal."""
    solve.check_matrices("householder_product", A)
    m, n = A.shape[-2:]
    if m < n or not tau.ndim or tau.shape[:-1] != A.shape[:-2] or tau.shape[-1] > n or tau.dtype is not A.dtype:
        raise ValueError(f"householder_product: A {A.spec} and tau {tau.spec} do not fit")
    return reflected(A, tau, elementwise.cast(identity_of(m, n), dtype=A.dtype))


def reflected(A, tau, x, forward=False, adjoints=False):
    """H1 H2 ... Hk x, or with `forward` Hk ... H1 x; with `adjoints`, of the adjoint reflections."""
    v = elementwise.add(lower(A, -1), elementwise.cast(identity_of(*A.shape[-2:]), dtype=A.dtype))
    places = range(tau.shape[-1])
    for i in places if forward else reversed(places):
        column = index.getitem(v, (..., slice(i, i + 1)))
        t = index.getitem(tau, (..., slice(i, i + 1), None))
        rows = linalg.matmul(adjoint(column), x)
        t = conj(t) if adjoints else t
        x = elementwise.sub(x, elementwise.mul(linalg.matmul(column, rows), t))
    if x.ndim < A.ndim:
        x = elementwise.add(x, creation.zeros((*A.shape[:-2], 1, 1), dtype=A.dtype))
    return x


def ormqr(input, tau, other, left=True, transpose=False):
    """Q other, or other Q, with the Q of the reflections in input and tau; its adjoint with `transpose`."""
    if left:
        return reflected(input, tau, other, forward=transpose, adjoints=transpose)
    return adjoint(reflected(input, tau, adjoint(other), forward=not transpose, adjoints=not transpose))


def matrix_rank(A, *, atol=None, rtol=None, hermitian=False, tol=None):
    """The number (int64) of singular values above max(atol, rtol * the largest); rtol is max(m, n) * eps unless atol is given."""
    s = magnitudes(A, hermitian)
    atol, rtol = tolerances(A, tol if atol is None else atol, rtol)
    if not s.shape[-1]:
        return creation.zeros(A.shape[:-2], dtype="int64")
    least = elementwise.mul(reduce.amax(s, dim=-1, keepdim=True), column(rtol))
    return reduce.sum(elementwise.gt(s, elementwise.maximum(least, column(atol))), dim=-1)


def column(bound):
    """A bound for each matrix, beside its singular values."""
    return shape.unsqueeze(bound, -1) if hasattr(bound, "spec") and bound.ndim else bound


def magnitudes(A, hermitian):
    """The singular values, of Hermitian A as the absolute eigenvalues."""
    return elementwise.abs(eigvalsh(A)) if hermitian else svdvals(A)


def tolerances(A, atol, rtol):
    """(atol, rtol) with PyTorch's defaults."""
    solve.check_matrices("matrix_rank", A)
    if rtol is None:
        eps = 2.0**-23 if solve.REAL[A.dtype] is float32 else 2.0**-52
        given = atol is not None and (hasattr(atol, "spec") or atol > 0)
        rtol = 0.0 if given else max(A.shape[-2:]) * eps
    return 0.0 if atol is None else atol, rtol


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as 0 (rtol as in matrix_rank)."""
    atol, rtol = tolerances(A, atol, rcond if rtol is None else rtol)
    if not hasattr(atol, "spec") and not hasattr(rtol, "spec"):
        return decomposition.pinv(A, atol=float(atol), rtol=float(rtol), hermitian=hermitian)
    if not min(A.shape[-2:]):
        return transposed(A)
    if hermitian:
        w, u = decomposition.eigh(A)
        vh = adjoint(u)
    else:
        u, w, vh = decomposition.svd(A)
    s = elementwise.abs(w)
    least = elementwise.maximum(elementwise.mul(reduce.amax(s, dim=-1, keepdim=True), column(rtol)), column(atol))
    kept = elementwise.gt(s, least)
    inverse = elementwise.where(kept, elementwise.div(1.0, elementwise.where(kept, w, 1.0)), 0.0)
    return linalg.matmul(elementwise.mul(adjoint(vh), shape.unsqueeze(inverse, -2)), adjoint(u))


def low_rank(A, q=6, niter=2, M=None):
    """(U, S, V): about the q largest singular values of A - M, found in a random subspace (Halko et al., 2009, algorithm 5.1)."""
    A = A if M is None else elementwise.sub(A, M)
    solve.check_matrices("svd_lowrank", A)
    q = min(q, *A.shape[-2:])
    span = decomposition.qr(linalg.matmul(A, randn(A.shape[-1], q, dtype=A.dtype)))[0]
    for _ in range(niter):
        span = decomposition.qr(linalg.matmul(adjoint(A), span))[0]
        span = decomposition.qr(linalg.matmul(A, span))[0]
    u, s, vh = decomposition.svd(linalg.matmul(adjoint(span), A))
    return SVD(linalg.matmul(span, u), s, adjoint(vh))
