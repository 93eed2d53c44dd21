"""Special functions by scipy: Bessel functions, the normal distribution, zeta, and orthogonal polynomials."""

import numpy as np
from scipy import special

from flow_core.op import Checked, define
from flow_core.ops.binary import NOTES
from flow_core.ops.elementwise import COMPLEX, FLOAT, elementwise
from flow_core.ops.unary import in_floats, lgamma, real

i0 = real("i0", special.i0, "The modified Bessel function of the first kind of order 0.")
i0e = real("i0e", special.i0e, "exp(-|x|) i0(x).")
i1 = real("i1", special.i1, "The modified Bessel function of the first kind of order 1.")
i1e = real("i1e", special.i1e, "exp(-|x|) i1(x).")
k0 = real("k0", special.k0, "The modified Bessel function of the second kind of order 0; infinite at 0, NaN below.")
k0e = real("k0e", special.k0e, "exp(x) k0(x).")
k1 = real("k1", special.k1, "The modified Bessel function of the second kind of order 1; infinite at 0, NaN below.")
k1e = real("k1e", special.k1e, "exp(x) k1(x).")
bessel_j0 = real("bessel_j0", special.j0, "The Bessel function of the first kind of order 0.")
bessel_j1 = real("bessel_j1", special.j1, "The Bessel function of the first kind of order 1.")
bessel_y0 = real("bessel_y0", special.y0, "The Bessel function of the second kind of order 0; NaN below 0.")
bessel_y1 = real("bessel_y1", special.y1, "The Bessel function of the second kind of order 1; NaN below 0.")
ndtr = real("ndtr", special.ndtr, "The distribution function of the normal distribution.")
ndtri = real("ndtri", special.ndtri, "The inverse of ndtr; NaN outside [0, 1].")
log_ndtr = real("log_ndtr", special.log_ndtr, "log(ndtr(x)), exact also far below 0.")
entr = real("entr", special.entr, "-x log(x): 0 at 0, -inf below.")
erfcx = real("erfcx", special.erfcx, "exp(x^2) erfc(x).")


def airy_kernel(x, /, *, order):
    function, dtype = in_floats(lambda a: special.airy(a)[order]), lgamma.infer(x).dtype

    def run(a):
        with np.errstate(all="ignore"):
            return np.asarray(function(a.astype(dtype, copy=False)))

    return run


@define(airy_kernel, elementwise=True)
def airy_ai(x, /, *, order=0):
    """The Airy function Ai, or its derivative for order 1; integers give float32."""
    if order not in (0, 1) or isinstance(order, bool):
        raise ValueError(f"airy_ai: order is {order!r}, expected 0 or 1")
    return Checked(lgamma.infer(x), {"order": order})


def two(name, function, doc, numbers=(0, 1)):
    """An op of two arguments by a function of float64 arrays."""

    def run(x, y):
        dtype = x.dtype if isinstance(x, np.ndarray) else y.dtype
        return np.asarray(function(np.asarray(x, np.float64), np.asarray(y, np.float64))).astype(dtype)

    return elementwise(
        name, run, f"{doc} {NOTES[numbers]}", least=FLOAT, quiet=True, refuses=(COMPLEX,), numbers=numbers
    )


def hurwitz(x, q):
    """scipy's zeta for x > 1; 1/q^x and all after it diverge at x = 1, and there is none below."""
    return np.where(x == 1, np.inf, np.where(x < 1, np.nan, special.zeta(x, q)))


zeta = two(
    "zeta", hurwitz, "The Hurwitz zeta function, the sum over k >= 0 of (k + y)^-x; infinite at x = 1, NaN below."
)
gammainc = two("gammainc", special.gammainc, "The lower regularised incomplete gamma function of x at y.", ())
gammaincc = two("gammaincc", special.gammaincc, "The upper regularised incomplete gamma function of x at y.", ())


MOST_STEPS = 100_000


def recurrence(first, step):
    """The polynomials of degrees n at x: p0 = 1, p1 = first(x), p(k+1) = step(k, x, p(k), p(k-1)); 0 for negative n."""

    def evaluate(x, n):
        x, n = np.broadcast_arrays(x, np.trunc(n))
        out = np.where(n == 0, 1.0, np.where(n == 1, first(x), 0.0))
        before, now, k = np.ones(x.shape), first(x), 1
        most = n.max(initial=0, where=np.isfinite(n))
        if most > MOST_STEPS:
            raise ValueError(
                f"a polynomial of degree {most:.0f} takes as many steps: degrees up to {MOST_STEPS} are taken"
            )
        while k < most and not (k % 64 == 0 and np.isnan(now[n > k]).all()):
            before, now = now, step(k, x, now, before)
            k += 1
            out = np.where(n == k, now, out)
        return np.where(n > k, np.nan, out)

    return evaluate


def chebyshev(angle, first):
    """Chebyshev polynomials: `angle(n, t)` is their value at cos(t), by which high degrees in [-1, 1] are found at once."""
    low = recurrence(first, lambda k, x, now, before: 2 * x * now - before)

    def evaluate(x, n):
        x, n = np.broadcast_arrays(x, np.trunc(n))
        closed = (n > 64) & (np.abs(x) < 1)
        return np.where(closed, angle(n, np.arccos(x)), low(x, np.where(closed, 0, n)))

    return evaluate


KINDS = {
    "t": chebyshev(lambda n, t: np.cos(n * t), lambda x: x),
    "u": chebyshev(lambda n, t: np.sin((n + 1) * t) / np.sin(t), lambda x: 2 * x),
    "v": chebyshev(lambda n, t: np.cos((n + 0.5) * t) / np.cos(t / 2), lambda x: 2 * x - 1),
    "w": chebyshev(lambda n, t: np.sin((n + 0.5) * t) / np.sin(t / 2), lambda x: 2 * x + 1),
}


def shifted(function):
    return lambda x, n: function(2 * x - 1, n)


POLYNOMIALS = "of degree y, a whole number, at x; 0 for a negative degree. The highest degree met counts in time."
chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w = (
    two(f"chebyshev_polynomial_{kind}", KINDS[kind], f"The Chebyshev polynomial {kind.upper()} {POLYNOMIALS}")
    for kind in "tuvw"
)
(
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
) = (
    two(
        f"shifted_chebyshev_polynomial_{kind}",
        shifted(KINDS[kind]),
        f"The Chebyshev polynomial {kind.upper()} shifted to [0, 1] {POLYNOMIALS}",
    )
    for kind in "tuvw"
)
hermite_polynomial_h = two(
    "hermite_polynomial_h",
    recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - 2 * k * before),
    f"The physicists' Hermite polynomial {POLYNOMIALS}",
)
hermite_polynomial_he = two(
    "hermite_polynomial_he",
    recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before),
    f"The probabilists' Hermite polynomial {POLYNOMIALS}",
)
laguerre_polynomial_l = two(
    "laguerre_polynomial_l",
    recurrence(lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)),
    f"The Laguerre polynomial {POLYNOMIALS}",
)
legendre_polynomial_p = two(
    "legendre_polynomial_p",
    recurrence(lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
    f"The Legendre polynomial {POLYNOMIALS}",
)
