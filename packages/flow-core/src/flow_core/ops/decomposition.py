"""Decompositions of matrices by LAPACK: Cholesky, QR, eigenvalues, singular values; and functions made of them. Batches throughout."""

import numpy as np
import scipy.linalg

from flow_core.dtype import complex64, complex128, float32, float64, int32
from flow_core.op import Checked, define
from flow_core.ops.solve import REAL, check_matrices, check_square, guarded, named
from flow_core.spec import as_float

COMPLEX = {float32: complex64, float64: complex128, complex64: complex64, complex128: complex128}


def conjugate_kernel(x, /):
    return lambda a: np.asarray(np.conjugate(a))


@define(conjugate_kernel)
def conjugate(x, /):
    """The complex conjugates, of x's shape and dtype: of real numbers a copy."""
    return x


def modulus_kernel(x, /):
    return lambda a: np.asarray(np.abs(a))


@define(modulus_kernel)
def modulus(x, /):
    """|x| of complex numbers, in their float type."""
    if x.dtype.kind != "c":
        raise TypeError(f"modulus: {x} is not complex; use abs")
    return x.with_dtype(REAL[x.dtype])


def cholesky_kernel(x, /, *, upper, check):
    potrf, batch = named("potrf", x.dtype), x.shape[:-2]

    def run(a):
        out, info = np.empty(x.shape, x.dtype), np.zeros(batch, np.int32)
        for i in np.ndindex(batch) if x.shape[-1] else ():
            out[i], info[i] = potrf(a[i], lower=not upper, clean=1)
            if check and info[i]:
                raise ValueError(
                    f"cholesky: the leading minor of order {info[i]} is not positive definite"
                    + (f" in matrix {i} of the batch" if batch else "")
                )
        return out, info

    return run


@define(cholesky_kernel)
def cholesky(x, /, *, upper=False, check=True):
    """(L, info): the lower triangular L with x = L L^H, of positive definite x (*batch, n, n), from its lower triangle.

    With `upper`, L^H from the upper one. info (int32) is 0, or the order of the minor that is not positive: with `check` a ValueError.
    """
    check_square("cholesky", x)
    info = x.with_shape(x.shape[:-2]).with_dtype(int32)
    return Checked((x, info), {"upper": bool(upper), "check": bool(check)})


def qr_kernel(x, /, *, complete):
    return lambda a: tuple(np.linalg.qr(a, "complete" if complete else "reduced"))


@define(qr_kernel)
def qr(x, /, *, complete=False):
    """(Q, R) of x (*batch, m, n): Q (*batch, m, k) with orthonormal columns, R (*batch, k, n) upper triangular; k = min(m, n), or m."""
    check_matrices("qr", x)
    *batch, m, n = x.shape
    k = m if complete else min(m, n)
    return Checked((x.with_shape((*batch, m, k)), x.with_shape((*batch, k, n))), {"complete": bool(complete)})


def geqrf_kernel(x, /):
    routine, (*batch, m, n) = named("geqrf", x.dtype), x.shape

    def run(a):
        out, tau = np.array(a, order="C"), np.zeros((*batch, min(m, n)), x.dtype)
        for i in np.ndindex(*batch) if min(m, n) else ():
            out[i], tau[i] = routine(a[i])[:2]
        return out, tau

    return run


@define(geqrf_kernel)
def geqrf(x, /):
    """(a, tau) of x (*batch, m, n): R in a's upper triangle; below it, and in tau (*batch, min(m, n)), the reflections that make up Q."""
    check_matrices("geqrf", x)
    *batch, m, n = x.shape
    return x, x.with_shape((*batch, min(m, n)))


def eigh_kernel(x, /, *, upper):
    return guarded("eigh", lambda a: tuple(np.linalg.eigh(a, "U" if upper else "L")), finite=True)


@define(eigh_kernel)
def eigh(x, /, *, upper=False):
    """(w, V) of Hermitian x (*batch, n, n), one triangle of which is read: growing real eigenvalues w, their vectors V's columns."""
    check_square("eigh", x)
    return Checked((x.with_shape(x.shape[:-1]).with_dtype(REAL[x.dtype]), x), {"upper": bool(upper)})


def eig_kernel(x, /):
    dtype = COMPLEX[x.dtype]
    return guarded("eig", lambda a: tuple(part.astype(dtype, copy=False) for part in np.linalg.eig(a)), finite=True)


@define(eig_kernel)
def eig(x, /):
    """(w, V) of square x (*batch, n, n): complex eigenvalues in no order, their vectors V's columns, of norm 1."""
    check_square("eig", x)
    out = x.with_dtype(COMPLEX[x.dtype])
    return out.with_shape(x.shape[:-1]), out


def svd_kernel(x, /, *, full_matrices):
    return guarded("svd", lambda a: tuple(np.linalg.svd(a, full_matrices)), finite=True)


@define(svd_kernel)
def svd(x, /, *, full_matrices=False):
    """(U, S, V^H) of x (*batch, m, n): U (m, k) and V (n, k) with orthonormal columns, falling S (k) >= 0; k = min(m, n).

    With `full_matrices`, U is (m, m) and V^H (n, n).
    """
    check_matrices("svd", x)
    *batch, m, n = x.shape
    k = min(m, n)
    u, v = (m, n) if full_matrices else (k, k)
    outs = (*batch, m, u), (*batch, k), (*batch, v, n)
    u, s, vh = [x.with_shape(shape) for shape in outs]
    return Checked((u, s.with_dtype(REAL[x.dtype]), vh), {"full_matrices": bool(full_matrices)})


def pinv_kernel(x, /, *, atol, rtol, hermitian):
    def run(a):
        if not a.size:
            return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), x.dtype)
        if hermitian:
            signed, u = np.linalg.eigh(a)
            vh = u.conj().swapaxes(-1, -2)
        else:
            u, signed, vh = np.linalg.svd(a, False)
        s = np.abs(signed)
        least = np.maximum(atol, rtol * s.max(-1, keepdims=True))
        with np.errstate(all="ignore"):
            inverse = np.where(s > least, 1 / signed, 0).astype(s.dtype)
        return np.asarray((vh.conj().swapaxes(-1, -2) * inverse[..., None, :]) @ u.conj().swapaxes(-1, -2), x.dtype)

    return guarded("pinv", run, finite=True)


@define(pinv_kernel)
def pinv(x, /, *, atol, rtol, hermitian=False):
    """The pseudo-inverse (*batch, n, m) of x (*batch, m, n); singular values up to max(atol, rtol * the largest) count as 0."""
    check_matrices("pinv", x)
    atol, rtol = as_float("pinv", "atol", atol), as_float("pinv", "rtol", rtol)
    if hermitian:
        check_square("pinv", x)
    *batch, m, n = x.shape
    return Checked(x.with_shape((*batch, n, m)), {"atol": atol, "rtol": rtol, "hermitian": bool(hermitian)})


def matrix_exp_kernel(x, /):
    def run(a):
        with np.errstate(all="ignore"):
            return np.asarray(scipy.linalg.expm(a) if a.size else a.copy(), x.dtype)

    return run


@define(matrix_exp_kernel)
def matrix_exp(x, /):
    """The exponentials of square matrices x (*batch, n, n)."""
    check_square("matrix_exp", x)
    return x
