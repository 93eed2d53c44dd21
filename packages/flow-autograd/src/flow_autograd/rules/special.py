"""Derivatives of flow_core.ops.special (Abramowitz and Stegun 7.2, 9.1, 9.6, 10.4, 23.2)."""

import math

import flow_core as flow
from flow_autograd.vjp import defvjp, no_vjp, unbroadcast
from flow_core.ops import special, unary


def over(y, x, at_zero):
    """y / x, and at_zero where x is 0."""
    zero = flow.eq(x, 0)
    return flow.where(zero, at_zero, y / flow.where(zero, 1, x))


def normal_density(x):
    return flow.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


def i1_slope(x):
    return special.i0(x) - over(special.i1(x), x, 0.5)


def i1e_slope(x):
    return special.i0e(x) - unary.sign(x) * special.i1e(x) - over(special.i1e(x), x, 0.5)


def airy_ai(g, _out, x, order):
    return g * (x * special.airy_ai(x) if order else special.airy_ai(x, order=1))


defvjp(special.i0, lambda g, _out, x: g * special.i1(x))
defvjp(special.i0e, lambda g, out, x: g * (special.i1e(x) - unary.sign(x) * out))
defvjp(special.i1, lambda g, _out, x: g * i1_slope(x))
defvjp(special.i1e, lambda g, _out, x: g * i1e_slope(x))
defvjp(special.k0, lambda g, _out, x: -g * special.k1(x))
defvjp(special.k0e, lambda g, out, x: g * (out - special.k1e(x)))
defvjp(special.k1, lambda g, out, x: -g * (special.k0(x) + out / x))
defvjp(special.k1e, lambda g, out, x: g * (out - special.k0e(x) - out / x))
defvjp(special.bessel_j0, lambda g, _out, x: -g * special.bessel_j1(x))
defvjp(special.bessel_j1, lambda g, _out, x: g * (special.bessel_j0(x) - over(special.bessel_j1(x), x, 0.5)))
defvjp(special.bessel_y0, lambda g, _out, x: -g * special.bessel_y1(x))
defvjp(special.bessel_y1, lambda g, out, x: g * (special.bessel_y0(x) - out / x))
defvjp(special.ndtr, lambda g, _out, x: g * normal_density(x))
defvjp(special.ndtri, lambda g, out, _x: g / normal_density(out))
# exp(-x^2 / 2) and ndtr(x) both vanish far below 0; their quotient is a scaled complementary error function.
defvjp(
    special.log_ndtr,
    lambda g, _out, x: g * (math.sqrt(2 / math.pi) / special.erfcx(x * -math.sqrt(0.5))),
)
defvjp(special.entr, lambda g, _out, x: g * (-flow.log(x) - 1))
defvjp(special.erfcx, lambda g, out, x: g * (2 * x * out - 2 / math.sqrt(math.pi)))
defvjp(special.airy_ai, airy_ai)
defvjp(special.zeta, None, lambda g, _out, x, y: unbroadcast(-g * x * special.zeta(x + 1, y), y.spec))


def gamma_density(a, x):
    """The derivative of gammainc in its second argument (Abramowitz and Stegun 6.5.25)."""
    log_gamma = math.lgamma(a) if isinstance(a, (int, float)) else unary.lgamma(a)
    return flow.exp((a - 1) * flow.log(x) - x - log_gamma)


# None in the first argument, as in PyTorch: it is no function at hand.
defvjp(special.gammainc, None, lambda g, _out, x, y: unbroadcast(g * gamma_density(x, y), y.spec))
defvjp(special.gammaincc, None, lambda g, _out, x, y: unbroadcast(-g * gamma_density(x, y), y.spec))
no_vjp(
    "of degree it has none, and PyTorch has none in x",
    special.chebyshev_polynomial_t,
    special.chebyshev_polynomial_u,
    special.chebyshev_polynomial_v,
    special.chebyshev_polynomial_w,
    special.shifted_chebyshev_polynomial_t,
    special.shifted_chebyshev_polynomial_u,
    special.shifted_chebyshev_polynomial_v,
    special.shifted_chebyshev_polynomial_w,
    special.hermite_polynomial_h,
    special.hermite_polynomial_he,
    special.laguerre_polynomial_l,
    special.legendre_polynomial_p,
)
