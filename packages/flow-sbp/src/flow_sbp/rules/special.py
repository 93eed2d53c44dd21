"""Sharding rules of special functions: every dim splits, and none is linear."""

from flow_sbp.rules.elementwise import binary
from flow_sbp.rules.unary import UNARY


def airy_ai(x, order):
    return UNARY


KINDS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
KINDS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
RULES = {
    **dict.fromkeys("i0 i0e i1 i1e k0 k0e k1 k1e bessel_j0 bessel_j1 bessel_y0 bessel_y1".split(), UNARY),
    **dict.fromkeys("ndtr ndtri log_ndtr entr erfcx".split(), UNARY),
    "airy_ai": airy_ai,
    **dict.fromkeys(["zeta", "gammainc", "gammaincc", *KINDS], binary()),
}
