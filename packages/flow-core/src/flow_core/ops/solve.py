"""Systems of linear equations by LAPACK: inverses, solutions, determinants, and factors by elimination. Batches of matrices throughout."""

import numpy as np
from scipy.linalg import get_blas_funcs, lapack

from flow_core.dtype import as_dtype, complex64, complex128, float32, float64, int32
from flow_core.op import Checked, define
from flow_core.spec import TensorSpec, as_count, broadcast_shapes

DTYPES = (float32, float64, complex64, complex128)  # those that LAPACK has
PREFIX = dict(zip(DTYPES, "sdcz", strict=True))
REAL = {float32: float32, float64: float64, complex64: float32, complex128: float64}


def check_matrices(name, *specs):
    """TypeError unless the specs have one dtype that LAPACK has, ValueError unless they are matrices."""
    specs = [getattr(t, "spec", t) for t in specs]  # functions ask with tensors
    for spec in specs:
        if spec.dtype not in DTYPES:
            raise TypeError(f"{name}: {spec} is none of float32, float64, complex64, complex128; cast it first")
        if spec.ndim < 2:
            raise ValueError(f"{name}: {spec} is no matrix, expected 2 dims at least")
        if spec.dtype is not specs[0].dtype:
            raise TypeError(f"{name}: {specs[0]} and {spec} must have one dtype")


def check_square(name, x):
    """The same for one square matrix, or a batch of them."""
    check_matrices(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name}: {getattr(x, 'spec', x)} is not square in its last two dims")


def guarded(name, function, finite=False):
    """`function` with LAPACK's complaints as ValueErrors that name the op. With `finite`, NaN and infinity are refused before: routines
    that iterate until they converge may never end on them."""

    def run(*arrays):
        if finite and not all(np.isfinite(a).all() for a in arrays):
            raise ValueError(f"{name}: the input holds NaN or infinity, for which it does not converge")
        try:
            with np.errstate(all="ignore"):
                return function(*arrays)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"{name}: {error}") from None

    return run


def named(name, dtype):
    """LAPACK's routine of that name for a dtype."""
    return getattr(lapack, PREFIX[dtype] + name)


@define(lambda x, /: guarded("inv", np.linalg.inv))
def inv(x, /):
    """The inverse of square matrices x (*batch, n, n). ValueError if one is singular."""
    check_square("inv", x)
    return x


def solve_kernel(a, b, /):
    return guarded("solve", np.linalg.solve)


@define(solve_kernel, linear=(1,))
def solve(a, b, /):
    """The x of a x = b: a (*batch, n, n), b (*batch, n, k), whose batches broadcast. ValueError if a is singular."""
    check_matrices("solve", a, b)
    check_square("solve", a)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"solve: {a} and {b} do not fit: {a.shape[-1]} unknowns, {b.shape[-2]} rows on the right")
    return b.with_shape((*broadcast_shapes("solve", a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))


def solve_triangular_kernel(a, b, /, *, upper, left, unitriangular):
    out = solve_triangular.infer(a, b, upper=upper, left=left, unitriangular=unitriangular).out
    (trsm,) = get_blas_funcs(["trsm"], dtype=a.dtype)

    def run(x, y):
        result = np.empty(out.shape, out.dtype)
        if not result.size:
            return result
        x = np.broadcast_to(x, out.shape[:-2] + a.shape[-2:])
        y = np.broadcast_to(y, out.shape)
        with np.errstate(all="ignore"):
            for i in np.ndindex(out.shape[:-2]):
                result[i] = trsm(1, x[i], y[i], side=not left, lower=not upper, diag=unitriangular)
        return result

    return run


@define(solve_triangular_kernel, linear=(1,))
def solve_triangular(a, b, /, *, upper, left=True, unitriangular=False):
    """The x of a x = b, or x a = b unless `left`, for triangular a (*batch, n, n); batches broadcast.

    The other triangle of a is not read, nor its diagonal if `unitriangular` (it counts as 1). A singular a gives infinities and NaN.
    """
    check_matrices("solve_triangular", a, b)
    check_square("solve_triangular", a)
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise ValueError(f"solve_triangular: {a} and {b} do not fit, left is {left}")
    shape = (*broadcast_shapes("solve_triangular", a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    return Checked(
        b.with_shape(shape), {"upper": bool(upper), "left": bool(left), "unitriangular": bool(unitriangular)}
    )


def cholesky_solve_kernel(b, f, /, *, upper):
    out, potrs = cholesky_solve.infer(b, f, upper=upper).out, named("potrs", b.dtype)

    def run(y, x):
        result, batch = np.empty(out.shape, out.dtype), out.shape[:-2]
        x, y = np.broadcast_to(x, batch + f.shape[-2:]), np.broadcast_to(y, out.shape)
        for i in np.ndindex(batch) if result.size else ():
            result[i] = potrs(x[i], y[i], lower=not upper)[0]
        return result

    return run


@define(cholesky_solve_kernel, linear=(0,))
def cholesky_solve(b, f, /, *, upper=False):
    """The x of A x = b with A = f f^H, f (*batch, n, n) lower triangular, or f^H f with `upper`; b (*batch, n, k), batches broadcast."""
    check_matrices("cholesky_solve", b, f)
    check_square("cholesky_solve", f)
    if f.shape[-1] != b.shape[-2]:
        raise ValueError(f"cholesky_solve: {b} and factor {f} do not fit")
    shape = (*broadcast_shapes("cholesky_solve", f.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    return Checked(b.with_shape(shape), {"upper": bool(upper)})


def det_kernel(x, /):
    return lambda a: np.asarray(np.linalg.det(a), x.dtype)


@define(det_kernel)
def det(x, /):
    """The determinants (*batch) of square matrices x (*batch, n, n)."""
    check_square("det", x)
    return x.with_shape(x.shape[:-2])


def cofactor_kernel(x, /):
    def run(a):
        if not a.size:
            return np.zeros_like(a)
        fits = np.isfinite(a).all((-2, -1), keepdims=True)  # of others svd may never end
        u, s, v = np.linalg.svd(np.where(fits, a, 0))
        ones = np.ones_like(s[..., :1])
        before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
        after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
        sign = np.linalg.det(u) * np.linalg.det(v)
        out = ((sign[..., None, None] * u) * (before * after)[..., None, :] @ v).conj()
        return np.where(fits, out, np.nan).astype(x.dtype, copy=False)

    return run


@define(cofactor_kernel)
def cofactor(x, /):
    """The cofactors of square matrices: det(x) times the inverse transposed, for singular x too (by the singular values of x)."""
    check_square("cofactor", x)
    return x


def slogdet_kernel(x, /):
    def run(a):
        sign, log = np.linalg.slogdet(a)
        return np.asarray(sign, x.dtype), np.asarray(log, REAL[x.dtype])

    return run


@define(slogdet_kernel)
def slogdet(x, /):
    """(sign, logarithm of the absolute value) of the determinants of square matrices; (0, -inf) for singular ones."""
    check_square("slogdet", x)
    out = x.with_shape(x.shape[:-2])
    return out, out.with_dtype(REAL[x.dtype])


def lu_factor_kernel(x, /, *, check):
    getrf = named("getrf", x.dtype)
    batch, (m, n) = x.shape[:-2], x.shape[-2:]

    def run(a):
        lu, pivots = np.empty(x.shape, x.dtype), np.empty((*batch, min(m, n)), np.int32)
        info = np.zeros(batch, np.int32)
        for i in np.ndindex(batch) if min(m, n) else ():
            lu[i], pivots[i], info[i] = getrf(a[i])
            if check and info[i]:
                raise ValueError(f"lu_factor: element {info[i]} of the diagonal of U is 0, so U is singular")
        return lu, pivots + 1, info

    return run


@define(lu_factor_kernel)
def lu_factor(x, /, *, check=False):
    """(LU, pivots, info) of matrices x (*batch, m, n): x = P L U by elimination with row exchanges (LAPACK's getrf).

    LU (*batch, m, n) holds U, and below it L, whose diagonal of 1 is left out. Row i was exchanged with row pivots[i] - 1 (int32).
    info (*batch, int32) is the place of the first 0 on the diagonal of U, 0 if there is none; with `check` a ValueError.
    """
    check_matrices("lu_factor", x)
    batch, size = x.shape[:-2], min(x.shape[-2:])
    pivots = TensorSpec((*batch, size), int32, x.device)
    return Checked((x, pivots, pivots.with_shape(batch)), {"check": bool(check)})


def permutation_kernel(pivots, /, *, rows, dtype):
    def run(p):
        if p.size and not 1 <= p.min() <= p.max() <= rows:
            raise ValueError(f"lu_unpack: pivots from {p.min()} to {p.max()} are not within 1 to {rows}")
        out = np.zeros((*p.shape[:-1], rows, rows), dtype)
        for i in np.ndindex(p.shape[:-1]):
            order = np.arange(rows)
            for row, other in enumerate(p[i]):
                order[[row, other - 1]] = order[[other - 1, row]]
            out[i][order, np.arange(rows)] = 1
        return out

    return run


@define(permutation_kernel)
def permutation(pivots, /, *, rows, dtype):
    """The matrices P (*batch, rows, rows) of the row exchanges in `pivots` (*batch, k), so that x = P L U."""
    rows, dtype = as_count("lu_unpack", "rows", rows), as_dtype(dtype)
    if pivots.dtype is not int32:
        raise TypeError(f"lu_unpack: pivots are {pivots}, expected int32")
    if not pivots.ndim or pivots.shape[-1] > rows:
        raise ValueError(f"lu_unpack: pivots {pivots} do not fit {rows} rows")
    return Checked(TensorSpec((*pivots.shape[:-1], rows, rows), dtype, pivots.device), {"rows": rows, "dtype": dtype})


def is_hermitian(x, hermitian):
    return "hetr" if hermitian and x.dtype.kind == "c" else "sytr"


def ldl_factor_kernel(x, /, *, hermitian, check):
    factor, batch = named(is_hermitian(x, hermitian) + "f", x.dtype), x.shape[:-2]

    def run(a):
        ld, pivots = np.empty(x.shape, x.dtype), np.empty(x.shape[:-1], np.int32)
        info = np.zeros(batch, np.int32)
        for i in np.ndindex(batch) if x.shape[-1] else ():
            ld[i], pivots[i], info[i] = factor(a[i], lower=1)
            ld[i] = np.tril(ld[i])
            if check and info[i]:
                raise ValueError(f"ldl_factor: block {info[i]} of D is 0, so D is singular")
        return ld, pivots, info

    return run


@define(ldl_factor_kernel)
def ldl_factor(x, /, *, hermitian=False, check=False):
    """(LD, pivots, info) of symmetric (or `hermitian`) matrices, x = L D L^T, from the lower triangle, as LAPACK's sytrf packs them."""
    check_square("ldl_factor", x)
    pivots = TensorSpec(x.shape[:-1], int32, x.device)
    info = TensorSpec(x.shape[:-2], int32, x.device)
    return Checked((x, pivots, info), {"hermitian": bool(hermitian), "check": bool(check)})


def ldl_solve_kernel(ld, pivots, b, /, *, hermitian):
    solver = named(is_hermitian(ld, hermitian) + "s", ld.dtype)
    out = ldl_solve.infer(ld, pivots, b, hermitian=hermitian).out

    def run(a, p, y):
        # LAPACK does not look: a pivot names a row, or with its sign turned the row of a block of two.
        if p.size and not (1 <= abs(p).min() and abs(p).max() <= p.shape[-1]):
            raise ValueError(f"ldl_solve: pivots {p.tolist()} name rows beyond 1 to {p.shape[-1]}")
        result, batch = np.empty(out.shape, out.dtype), out.shape[:-2]
        a = np.broadcast_to(a, batch + a.shape[-2:])
        p, y = np.broadcast_to(p, batch + p.shape[-1:]), np.broadcast_to(y, out.shape)
        for i in np.ndindex(batch) if result.size else ():
            result[i] = solver(a[i], p[i], y[i], lower=1)[0]
        return result

    return run


@define(ldl_solve_kernel, linear=(2,))
def ldl_solve(ld, pivots, b, /, *, hermitian=False):
    """The x of A x = b from ldl_factor of A: ld (*batch, n, n), pivots (*batch, n) int32, b (*batch, n, k); batches broadcast."""
    check_matrices("ldl_solve", ld, b)
    check_square("ldl_solve", ld)
    if pivots.dtype is not int32 or pivots.shape != ld.shape[:-1] or b.shape[-2] != ld.shape[-1]:
        raise ValueError(f"ldl_solve: LD {ld}, pivots {pivots} (int32) and B {b} do not fit")
    shape = (*broadcast_shapes("ldl_solve", ld.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    return Checked(b.with_shape(shape), {"hermitian": bool(hermitian)})
