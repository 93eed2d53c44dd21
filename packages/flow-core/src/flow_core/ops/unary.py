"""Elementwise ops of one argument: trigonometric and hyperbolic functions, exponentials and logarithms, roundings, predicates."""

import numpy as np
from scipy import special

from flow_core.dtype import CATEGORIES, bool_, float32, int32
from flow_core.op import Checked, define
from flow_core.ops.elementwise import BOOL, COMPLEX, FLOAT, UNARY, elementwise


def in_floats(function):
    """A function of scipy's in the array's own dtype: 16-bit floats are taken in float32 and rounded once."""

    def run(x):
        return function(x) if x.dtype.char in "fd" else np.asarray(function(x.astype(np.float32))).astype(x.dtype)

    return run


def nearest(x):
    """The nearest whole number; numpy's own makes float64 of integers."""
    return x.copy() if x.dtype.kind in "iu" else np.rint(x)


def floating(name, ufunc, doc):
    """An op whose result is a float: integers give float32."""
    return elementwise(name, ufunc, f"{doc} {UNARY}", least=FLOAT, args="x", quiet=True)


def real(name, function, doc):
    """The same, not defined for complex numbers."""
    return elementwise(
        name, in_floats(function), f"{doc} {UNARY}", least=FLOAT, args="x", quiet=True, refuses=(COMPLEX,)
    )


def keeping(name, ufunc, doc):
    """An op whose result has x's dtype, not defined for bools and complex numbers."""
    doc = f"{doc} Of x's shape and dtype; TypeError for bools and complex numbers."
    return elementwise(name, ufunc, doc, args="x", quiet=True, refuses=(BOOL, COMPLEX))


def predicate(name, ufunc, doc, refuses=()):
    """An op whose result is a bool."""
    return elementwise(name, ufunc, f"{doc} Returns bools.", result=bool_, args="x", refuses=refuses)


acos = floating("acos", np.arccos, "The angle in [0, pi] whose cosine is x; NaN outside [-1, 1].")
acosh = floating("acosh", np.arccosh, "The number >= 0 whose hyperbolic cosine is x; NaN below 1.")
asin = floating("asin", np.arcsin, "The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1].")
asinh = floating("asinh", np.arcsinh, "The number whose hyperbolic sine is x.")
atan = floating("atan", np.arctan, "The angle in (-pi/2, pi/2) whose tangent is x.")
atanh = floating("atanh", np.arctanh, "The number whose hyperbolic tangent is x; NaN outside [-1, 1].")
cos = floating("cos", np.cos, "The cosine of x radians.")
cosh = floating("cosh", np.cosh, "The hyperbolic cosine.")
exp2 = floating("exp2", np.exp2, "2 to the power x.")
expm1 = floating("expm1", np.expm1, "exp(x) - 1, exact also near 0.")
log10 = floating("log10", np.log10, "The logarithm to base 10; NaN below 0.")
log1p = floating("log1p", np.log1p, "log(1 + x), exact also near 0; NaN below -1.")
log2 = floating("log2", np.log2, "The logarithm to base 2; NaN below 0.")
reciprocal = floating("reciprocal", np.reciprocal, "1 / x.")
sin = floating("sin", np.sin, "The sine of x radians.")
sinh = floating("sinh", np.sinh, "The hyperbolic sine.")
tan = floating("tan", np.tan, "The tangent of x radians.")

erfc = real("erfc", special.erfc, "1 - erf(x), exact also where erf(x) is near 1.")
erfinv = real("erfinv", special.erfinv, "The number whose error function is x; NaN outside [-1, 1].")
lgamma = real("lgamma", special.gammaln, "The logarithm of |gamma(x)|.")

ceil = keeping("ceil", np.ceil, "The smallest whole number >= x.")
floor = keeping("floor", np.floor, "The largest whole number <= x.")
trunc = keeping("trunc", np.trunc, "x without its fraction.")
rint = keeping("rint", nearest, "The nearest whole number, the even one of two.")
sign = elementwise(
    "sign",
    lambda x: x.copy() if x.dtype == bool else np.sign(x),
    "-1, 0 or 1 as x is below, at or above 0; NaN for NaN. Of x's shape and dtype; TypeError for complex numbers.",
    args="x",
    quiet=True,
    refuses=(COMPLEX,),
)

isfinite = predicate("isfinite", np.isfinite, "True where x is neither infinite nor NaN.")
isinf = predicate("isinf", np.isinf, "True where x is infinite.")
isnan = predicate("isnan", np.isnan, "True where x is NaN.")
signbit = predicate("signbit", np.signbit, "True where the sign bit is set: below 0, and at -0.0.", refuses=(COMPLEX,))
logical_not = predicate("logical_not", np.logical_not, "True where x is 0 or False.")


def polygamma_kernel(x, /, *, n):
    function = in_floats(special.digamma if n == 0 else lambda a: special.polygamma(n, a).astype(a.dtype))

    dtype = lgamma.infer(x).dtype

    def run(a):
        with np.errstate(all="ignore"):
            return np.asarray(function(a.astype(dtype, copy=False)))

    return run


@define(polygamma_kernel, elementwise=True)
def polygamma(x, /, *, n):
    """The derivative of order n of digamma, which is that of lgamma; integers give float32. ValueError for a negative n."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"polygamma: n is {n!r}, expected an int of 0 or more")
    return Checked(lgamma.infer(x), {"n": n})


def softplus_kernel(x, /, *, beta, threshold):
    wide = float32 if x.dtype.itemsize == 2 else x.dtype

    def run(a):
        with np.errstate(all="ignore"):
            scaled = a.astype(wide, copy=False) * wide.type(beta)
            smooth = np.logaddexp(scaled, 0, dtype=wide) / beta
        return np.asarray(np.where(scaled > threshold, a, smooth), x.dtype)

    return run


@define(softplus_kernel, elementwise=True)
def softplus(x, /, *, beta=1.0, threshold=20.0):
    """log(1 + exp(beta x)) / beta, exact also far below 0; x itself where beta x > threshold. TypeError unless x holds floats."""
    if CATEGORIES[x.dtype] != FLOAT:
        raise TypeError(f"softplus: {x} is not of a float type; cast it first, as in x.to(flow.float32)")
    for name, value in (("beta", beta), ("threshold", threshold)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"softplus: {name} is {value!r}, expected a number")
    return Checked(x, {"beta": float(beta), "threshold": float(threshold)})


def frexp_kernel(x, /):
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype

    def run(a):
        mantissa, exponent = np.frexp(a.astype(wide, copy=False))
        return np.asarray(mantissa, x.dtype), np.asarray(exponent, int32)

    return run


@define(frexp_kernel)
def frexp(x, /):
    """(mantissa, exponent): x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1, exponent int32. TypeError for integers."""
    if CATEGORIES[x.dtype] != 2:
        raise TypeError(f"frexp: {x} is not of a float type; cast it first, as in x.to(flow.float32)")
    return x, x.with_dtype(int32)
