"""The rows of CALLS for ops on matrices, Fourier transforms and special functions."""

import numpy as np

from flow_core.dtype import complex64, complex128, float32, float64, int32
from flow_core.testing.draw import BOOL, COMPLEX, FLOAT, INT
from flow_core.testing.pointwise import binary, unary

LAPACK = (float32, float64, complex64, complex128)


def lapack_dtype(d):
    """A dtype that LAPACK has, of the draw's if there is one."""
    return d.one_of(*([t for t in d.dtypes if t in LAPACK] or LAPACK))


def sizes(d):
    return d.shape(max_dims=1), d.integer(0, 3), d.integer(0, 3)


def matrices(d, shape, dtype, shift=0):
    """Matrices with `shift` added to their diagonals, which makes square ones regular from 8 on."""
    x = d.array(shape, dtype)
    return np.asarray(x + shift * np.eye(*shape[-2:]), dtype)


def square(shift=9, **attrs):
    """Calls on regular square matrices."""

    def row(d):
        lead, n, _ = sizes(d)
        return [matrices(d, (*lead, n, n), lapack_dtype(d), shift)], {k: d.one_of(*v) for k, v in attrs.items()}

    return row


def rectangular(**attrs):
    """Calls on matrices of full rank."""

    def row(d):
        lead, m, n = sizes(d)
        return [matrices(d, (*lead, m, n), lapack_dtype(d), 9)], {k: d.one_of(*v) for k, v in attrs.items()}

    return row


def hermitian(**attrs):
    """Calls on positive definite matrices."""

    def row(d):
        (x,), drawn = square(9, **attrs)(d)
        return [np.asarray((x + x.conj().swapaxes(-1, -2)) / 2, x.dtype)], drawn

    return row


def two_batches(d):
    lead = d.shape(max_dims=2)
    return d.narrowed(lead), d.narrowed(lead), d.integer(0, 3), d.integer(0, 3), lapack_dtype(d)


def solve(d):
    left, right, n, k, dtype = two_batches(d)
    return [matrices(d, (*left, n, n), dtype, 9), d.array((*right, n, k), dtype)], {}


def solve_triangular(d):
    (a, b), _ = solve(d)
    left = d.flag()
    return [a, b if left else b.swapaxes(-1, -2)], {"upper": d.flag(), "left": left, "unitriangular": d.flag()}


def cholesky_solve(d):
    (a, b), _ = solve(d)
    upper = d.flag()
    return [b, np.ascontiguousarray(np.triu(a) if upper else np.tril(a))], {"upper": upper}


def permutation(d):
    shape, k = d.shape(max_dims=1), d.integer(0, 3)
    rows = k + d.integer(0, 2)
    pivots = np.asarray(np.arange(1, k + 1) + d.integer(0, rows - k) * np.ones((*shape, 1)), np.int32)
    return [pivots.astype(int32).reshape((*shape, k))], {"rows": rows, "dtype": d.dtype(FLOAT)}


def ldl_solve(d):
    left, _, n, k, dtype = two_batches(d)
    pivots = np.asarray(np.broadcast_to(np.arange(1, n + 1), (*left, n)), np.int32)
    return [matrices(d, (*left, n, n), dtype, 9), np.ascontiguousarray(pivots), d.array((*left, n, k), dtype)], {
        "hermitian": False
    }


def pinv(d):
    (x,), _ = rectangular()(d)
    return [x], {"atol": 0.0, "rtol": 1e-6, "hermitian": False}


def transform(takes_complex):
    """Calls of a Fourier transform; floats and complex numbers only where it takes them."""

    def row(d):
        allowed = LAPACK if takes_complex else LAPACK[:2]
        dtype = d.one_of(*([t for t in d.dtypes if t in allowed] or allowed))
        x = d.array(d.shape(min_dims=1, min_side=1), dtype)
        dims = tuple(sorted({d.integer(0, x.ndim - 1) for _ in range(2)}))
        return [x], {"s": tuple(d.integer(1, 5) for _ in dims), "dims": dims, "norm": d.one_of("backward", "ortho")}

    return row


def irfftn_adjoint(d):
    dtype = d.one_of(*([t for t in d.dtypes if t in LAPACK[:2]] or LAPACK[:2]))
    g = d.array(d.shape(min_dims=1, min_side=1), dtype)
    shape = (*g.shape[:-1], d.integer(1, 4))
    return [g], {"s": g.shape[-1:], "dims": (g.ndim - 1,), "norm": d.one_of("backward", "forward"), "shape": shape}


def rfft_pairs(d):
    dtype = d.one_of(*([t for t in d.dtypes if t in LAPACK[:2]] or LAPACK[:2]))
    return [d.array((*d.shape(max_dims=2), d.integer(1, 5)), dtype)], {}


def rfft_pairs_adjoint(d):
    (x,), _ = rfft_pairs(d)
    return [d.array((*x.shape[:-1], x.shape[-1] // 2 + 1, 2), x.dtype)], {"n": x.shape[-1]}


def modulus(d):
    return [d.array(d.shape(), d.one_of(complex64, complex128))], {}


def airy(d):
    return [d.array(d.shape(), d.dtype(INT, FLOAT))], {"order": d.integer(0, 1)}


def polynomial(d):
    shape = d.shape()
    return [d.array(d.narrowed(shape), d.dtype(INT, FLOAT), -1, 1), d.integer(-1, 5)], {}


KINDS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
KINDS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
ALGEBRA = {
    **dict.fromkeys("inv det cofactor slogdet matrix_exp eig".split(), square()),
    "matrix_exp": square(0),
    "solve": solve,
    "solve_triangular": solve_triangular,
    "cholesky_solve": cholesky_solve,
    "lu_factor": rectangular(check=(False, True)),
    "permutation": permutation,
    "ldl_factor": hermitian(hermitian=(False, True), check=(False,)),
    "ldl_solve": ldl_solve,
    "conjugate": unary(INT, FLOAT, COMPLEX),
    "modulus": modulus,
    "cholesky": hermitian(upper=(False, True), check=(False, True)),
    "qr": rectangular(complete=(False,)),  # complete, it has no derivative where there are more rows than columns
    "geqrf": rectangular(),
    "eigh": hermitian(upper=(False, True)),
    "svd": rectangular(full_matrices=(False, True)),
    "pinv": pinv,
    **dict.fromkeys(["fftn", "ifftn", "irfftn", "hfftn"], transform(True)),
    **dict.fromkeys(["rfftn", "ihfftn"], transform(False)),
    "irfftn_adjoint": irfftn_adjoint,
    "rfft_pairs": rfft_pairs,
    "rfft_pairs_adjoint": rfft_pairs_adjoint,
    **dict.fromkeys("i0 i0e i1 i1e bessel_j0 bessel_j1 ndtr log_ndtr erfcx".split(), unary(BOOL, INT, FLOAT)),
    **dict.fromkeys("k0 k0e k1 k1e bessel_y0 bessel_y1 entr".split(), unary(INT, FLOAT, low=0.5)),
    "ndtri": unary(FLOAT, low=0.125, high=0.875),
    "airy_ai": airy,
    "zeta": binary(INT, FLOAT, low=1.5, high=3),
    **dict.fromkeys(["gammainc", "gammaincc"], binary(INT, FLOAT, low=0.5, high=3, numbers=())),
    **dict.fromkeys(KINDS, polynomial),
}
