"""Linear systems, inverses, determinants and powers as PyTorch's linalg has them. Leading dims are batches; dtypes are LAPACK's four."""

from typing import NamedTuple

from flow_core.dtype import int64
from flow_core.functions import factors
from flow_core.functions.grids import MOST_POWERS
from flow_core.functions.norms import magnitude
from flow_core.functions.triangles import conj, identity, transposed
from flow_core.ops import creation, decomposition, elementwise, index, linalg, reduce, shape
from flow_core.ops import solve as solving
from flow_core.spec import num_elements


class InverseResult(NamedTuple):
    """What inv_ex returns."""

    inverse: object
    info: object


class SolveResult(NamedTuple):
    """What solve_ex returns."""

    result: object
    info: object


class SlogdetResult(NamedTuple):
    """What slogdet returns."""

    sign: object
    logabsdet: object


class LstsqResult(NamedTuple):
    """What lstsq returns."""

    solution: object
    residuals: object
    rank: object
    singular_values: object


class TriangularResult(NamedTuple):
    """What triangular_solve returns."""

    solution: object
    cloned_coefficient: object


def inv(A):
    """The inverse of square A. ValueError if it is singular."""
    return solving.inv(A)


def inv_ex(A, *, check_errors=False):
    """(inverse, info): where info (int32) is not 0, A is singular and its inverse infinite or NaN; an error with `check_errors`."""
    solving.check_square("inv_ex", A)
    eye = elementwise.add(creation.zeros_like(A), identity(A))
    return InverseResult(*solve_ex(A, eye, check_errors=check_errors))


def is_vector(A, B):
    """Whether B holds right hand sides without a dim of columns, as PyTorch tells: 1-d, or of A's batch and rows."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def solve(A, B, *, left=True):
    """The X of A X = B, or X A = B unless `left`; B (*batch, n, k) or a vector (*batch, n). ValueError if A is singular."""
    return sided("solve", A, B, left, solving.solve)


def sided(name, A, B, left, solver):
    """`solver` for right hand sides that are vectors, and for equations from the right."""
    solving.check_matrices(name, A)
    vector = is_vector(A, B)
    if vector and not left:
        raise ValueError(f"{name}: B {B.spec} holds vectors, which are solved for from the left only")
    b = shape.unsqueeze(B, -1) if vector else B
    out = solver(A, b) if left else transposed(solver(transposed(A), transposed(b)))
    return shape.squeeze(out, -1) if vector else out


def solve_ex(A, B, *, left=True, check_errors=False):
    """(result, info): where info (int32) is not 0, A is singular and the result infinite or NaN; an error with `check_errors`."""
    solving.check_square("solve_ex", A)
    data, pivots, info = solving.lu_factor(A, check=check_errors)

    def solver(a, b):
        if a is A:
            return lu_solve(data, pivots, b)
        return transposed(lu_solve(data, pivots, transposed(b), left=False))

    return SolveResult(sided("solve_ex", A, B, left, solver), info)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """The X of A X = B (X A = B unless `left`) for triangular A, of which the other triangle is not read."""
    return solving.solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(X, A) with A X = b for triangular A, or its transposed with `transpose`."""
    a = transposed(A) if transpose else A
    x = solving.solve_triangular(a, b, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularResult(x, elementwise.cast(A, dtype=A.dtype))


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """The X of A X = B (X A = B unless `left`; A^H with `adjoint`) from lu_factor of A; batches broadcast."""
    solving.check_square("lu_solve", LU)
    p = solving.permutation(pivots, rows=LU.shape[-1], dtype=LU.dtype)

    def triangular(upper, x, adjoint):
        a = conj(transposed(LU)) if adjoint else LU
        return solving.solve_triangular(a, x, upper=upper != adjoint, unitriangular=not upper)

    if not left:  # X A = B is A^H X^H = B^H
        return conj(transposed(lu_solve(LU, pivots, conj(transposed(B)), adjoint=not adjoint)))
    if adjoint:  # A^H = U^H L^H P^T
        return linalg.matmul(p, triangular(False, triangular(True, B, True), True))
    return triangular(True, triangular(False, linalg.matmul(transposed(p), B), False), False)


def lu_solve_of(b, LU_data, LU_pivots):
    """The x of A x = b, as linalg.lu_solve with other places."""
    return lu_solve(LU_data, LU_pivots, b)


def det(A):
    """The determinants of square A."""
    return solving.det(A)


def slogdet(A):
    """(sign, logabsdet) of the determinants of square A."""
    return SlogdetResult(*solving.slogdet(A))


def logdet(A):
    """The logarithms of the determinants of square A: -inf where it is 0, NaN where it is negative."""
    sign, log = solving.slogdet(A)
    if sign.dtype.kind == "c":
        return elementwise.add(log, elementwise.log(sign))
    return elementwise.where(elementwise.lt(sign, 0), float("nan"), log)


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values): the X that makes |A X - B| smallest, of those the smallest.

    A (*batch, m, n), B (*batch, m, k) or vectors (*batch, m). residuals are given where m > n and the rank is full; rank by all drivers
    but gels; singular_values by gelsd and gelss; what is not given is empty. rcond, eps * max(m, n) by default, says what counts as 0.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in DRIVERS:
        raise ValueError(f"lstsq: driver is {driver!r}, expected one of {', '.join(DRIVERS)}")
    solving.check_matrices("lstsq", A)
    vector = A.ndim - 1 == B.ndim and B.shape[-1:] == A.shape[-2:-1]
    b = shape.unsqueeze(B, -1) if vector else B
    solving.check_matrices("lstsq", A, b)
    m, n = A.shape[-2:]
    if b.shape[-2] != m:
        raise ValueError(f"lstsq: A {A.spec} and B {B.spec} differ in their rows")
    x = linalg.matmul(factors.pinv(A, rtol=0.0 if driver == "gels" else rcond), b)
    residuals = creation.zeros((0,), dtype=solving.REAL[A.dtype])
    s = factors.svdvals(A)
    rank = factors.matrix_rank(A.detach(), rtol=rcond)
    if m > n and (driver == "gels" or bool((rank.data == n).all())):
        rest = magnitude(elementwise.sub(linalg.matmul(A, x), b))
        residuals = reduce.sum(elementwise.mul(rest, rest), dim=-2)
    if driver == "gels":
        rank = creation.zeros((0,), dtype=int64)
    if driver not in ("gelsd", "gelss"):
        s = creation.zeros((0,), dtype=s.dtype)
    return LstsqResult(shape.squeeze(x, -1) if vector else x, residuals, rank, s)


def matrix_power(A, n):
    """A times itself n times, by repeated squaring; n 0 gives the identity, a negative n powers of the inverse."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"matrix_power: n is {n!r}, expected an int")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"matrix_power: {A.spec} holds no square matrices")
    if n < 0:
        A, n = inv(A), -n
    out = None
    while n:
        if n & 1:
            out = A if out is None else linalg.matmul(out, A)
        n >>= 1
        A = linalg.matmul(A, A) if n else A
    return elementwise.add(creation.zeros_like(A), identity(A)) if out is None else out


def matrix_exp(A):
    """The exponential of square A."""
    return decomposition.matrix_exp(A)


def tensorinv(A, ind=2):
    """The inverse of A as a map from its dims after the first `ind` to those: the products of the two groups' sizes must agree."""
    if isinstance(ind, bool) or not isinstance(ind, int) or ind <= 0:
        raise ValueError(f"tensorinv: ind is {ind!r}, expected an int above 0")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if num_elements(rows) != num_elements(columns):
        raise ValueError(f"tensorinv: the sizes {rows} and {columns} of {A.spec} have different products")
    square = shape.reshape(A, shape=(num_elements(rows), num_elements(columns)))
    return shape.reshape(inv(square), shape=columns + rows)


def tensorsolve(A, B, dims=None):
    """The X with tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first."""
    if dims is not None:
        moved = [d % A.ndim for d in ([dims] if isinstance(dims, int) else dims)]
        A = shape.permute(A, dims=(*[d for d in range(A.ndim) if d not in moved], *moved))
    rest = A.shape[B.ndim :]
    if num_elements(rest) != B.numel() or A.numel() != B.numel() ** 2:
        raise ValueError(f"tensorsolve: {A.spec} and {B.spec} do not fit: as a matrix, the first is not square")
    out = solve(shape.reshape(A, shape=(B.numel(), B.numel())), shape.reshape(B, shape=(B.numel(),)))
    return shape.reshape(out, shape=rest)


def vander(x, *, N=None):
    """The powers 0 to N - 1 of the elements of x (*batch, n) as rows: (*batch, n, N); N is n by default."""
    N = x.shape[-1] if N is None else N
    if isinstance(N, bool) or not isinstance(N, int) or not 0 <= N <= MOST_POWERS:
        raise ValueError(f"vander: N is {N!r}, expected an int from 0 to {MOST_POWERS}")
    x = elementwise.cast(x, dtype=int64) if x.dtype.kind in "biu" else x
    powers = [creation.ones_like(x)]
    while len(powers) < N:
        powers.append(elementwise.mul(powers[-1], x))
    return shape.stack(powers[:N], -1) if N else creation.zeros((*x.shape, 0), dtype=x.dtype)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of the matrices in dims dim1 and dim2, `offset` above the main one, as the last dim."""
    dims = [d + A.ndim if d < 0 else d for d in (dim1, dim2)]
    if any(not 0 <= d < A.ndim for d in dims) or dims[0] == dims[1]:
        raise ValueError(f"diagonal: dim1 {dim1} and dim2 {dim2} are no two dims of {A.spec}")
    x = shape.permute(A, dims=(*[d for d in range(A.ndim) if d not in dims], *dims))
    rows, columns = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    x = index.getitem(x, (..., rows, columns))
    k = min(x.shape[-2:])
    flat = shape.reshape(index.getitem(x, (..., slice(k), slice(k))), shape=(*x.shape[:-2], k * k))
    return index.getitem(flat, (..., slice(None, None, k + 1)))
