"""Special functions in terms of ops, with PyTorch's arguments."""

import math

from flow_core.dtype import CATEGORIES
from flow_core.functions.pointwise import as_tensor_beside, mvlgamma
from flow_core.ops import binary, elementwise, reduce, special, unary


def floats(x):
    """x, in float32 if it holds integers."""
    return elementwise.mul(x, 1.0) if CATEGORIES[x.dtype] < 2 else x


def polygamma(n, input):
    """The derivative of order n of digamma."""
    return unary.polygamma(input, n=n)


def i0(input):
    """The modified Bessel function of the first kind of order 0."""
    return special.i0(input)


def igamma(input, other):
    """The lower regularised incomplete gamma function of input at other."""
    return special.gammainc(input, other)


def igammac(input, other):
    """The upper regularised incomplete gamma function of input at other."""
    return special.gammaincc(input, other)


def logit(input, eps=None):
    """log(x / (1 - x)); with `eps`, x is first taken into [eps, 1 - eps], and has gradient 0 where that moves it."""
    x = floats(input)
    if eps is not None:
        x = elementwise.where(elementwise.lt(x, eps), eps, elementwise.where(elementwise.gt(x, 1 - eps), 1 - eps, x))
    return elementwise.log(elementwise.div(x, elementwise.sub(1, x)))


def xlog1py(input, other):
    """input * log(1 + other), 0 where input is 0 and other is not NaN. Either may be a number."""
    x, y = as_tensor_beside(input, other), as_tensor_beside(other, input)
    safe = binary.logical_and(elementwise.eq(x, 0), elementwise.le(y, -1))
    return elementwise.mul(x, unary.log1p(elementwise.where(safe, 0, y)))


def airy_ai(input):
    """The Airy function Ai."""
    return special.airy_ai(input)


def spherical_bessel_j0(input):
    """sin(x) / x, 1 at 0."""
    zero = elementwise.eq(input, 0)
    x = elementwise.where(zero, 1, floats(input))
    return elementwise.where(zero, 1.0, elementwise.div(unary.sin(x), x))


def multigammaln(a, p):
    """The logarithm of the multivariate gamma function of dimension p."""
    return mvlgamma(a, p)


def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(x))) over `dim`, without overflow."""
    x = floats(input)
    most = reduce.amax(x, dim=dim, keepdim=True).detach()
    most = elementwise.where(unary.isfinite(most), most, 0.0)
    total = reduce.sum(elementwise.exp(elementwise.sub(x, most)), dim=dim, keepdim=True)
    out = elementwise.add(elementwise.log(total), most)
    return out if keepdim else reduce.sum(out, dim=dim)


def round(input, *, decimals=0):
    """The nearest multiple of 10 to the power -decimals, the even one of two."""
    if decimals == 0 or CATEGORIES[input.dtype] < 2:
        return unary.rint(input)
    scale = math.pow(10, abs(decimals))
    up, down = (elementwise.mul, elementwise.div) if decimals > 0 else (elementwise.div, elementwise.mul)
    return down(unary.rint(up(input, scale)), scale)
