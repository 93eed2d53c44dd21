"""Functions of elements, one by one, in terms of ops."""

import math

import ml_dtypes

from flow_core.dtype import CATEGORIES, bool_, complex128, float32, float64, promote
from flow_core.ops import binary, elementwise, unary
from flow_core.ops.creation import full_as, zeros_like


def square(x):
    """x * x."""
    return elementwise.mul(x, x)


def clamp(x, min=None, max=None):
    """x where it lies between `min` and `max` (numbers or tensors, either may be None), else the nearer of them; NaN stays NaN.

    Where min is above max the result is max. ValueError without a bound.
    """
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both")
    # Not by maximum, whose gradient is shared where the two are equal: within the bounds, bounds included, x has it all.
    if min is not None:
        x = elementwise.where(elementwise.lt(x, min), min, x)
    if max is not None:
        x = elementwise.where(elementwise.gt(x, max), max, x)
    return x


def clamp_min(x, min):
    """x, or `min` where x is below it."""
    return clamp(x, min=min)


def clamp_max(x, max):
    """x, or `max` where x is above it."""
    return clamp(x, max=max)


def relu(x):
    """x where it is above 0, else 0; NaN stays NaN."""
    return elementwise.where(elementwise.le(x, 0), zeros_like(x), x)


def lerp(input, end, weight):
    """input + weight * (end - input); weight is a number or a tensor that broadcasts.

    As PyTorch computes it, from the nearer end, so that weight 1 gives `end` exactly.
    """
    gap = elementwise.sub(end, input)
    from_start = elementwise.add(input, elementwise.mul(gap, weight))
    from_end = elementwise.sub(
        end, elementwise.mul(gap, elementwise.sub(1, weight) if hasattr(weight, "spec") else 1 - weight)
    )
    if hasattr(weight, "spec"):
        return elementwise.where(elementwise.lt(elementwise.abs(weight), 0.5), from_start, from_end)
    return from_start if abs(weight) < 0.5 else from_end


def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 * tensor2."""
    product = elementwise.mul(tensor1, tensor2)
    return elementwise.add(input, product if value == 1 else elementwise.mul(product, value))


def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2. TypeError for integers, whose quotient PyTorch does not define here."""
    if CATEGORIES[tensor1.dtype] < 2 and CATEGORIES[tensor2.dtype] < 2:
        raise TypeError(
            f"addcdiv: {tensor1.spec} and {tensor2.spec} hold integers; cast one of them to a float type first"
        )
    quotient = elementwise.div(tensor1, tensor2)
    return elementwise.add(input, quotient if value == 1 else elementwise.mul(quotient, value))


def frac(x):
    """x minus trunc(x): the fraction, with x's sign."""
    return elementwise.sub(x, unary.trunc(x))


def deg2rad(x):
    """x degrees in radians."""
    return elementwise.mul(x, math.pi / 180)


def rad2deg(x):
    """x radians in degrees."""
    return elementwise.mul(x, 180 / math.pi)


def sinc(x):
    """sin(pi x) / (pi x), 1 at 0."""
    at_zero = elementwise.eq(x, 0)
    angle = elementwise.mul(elementwise.where(at_zero, 1, x), math.pi)
    return elementwise.where(at_zero, 1.0, elementwise.div(unary.sin(angle), angle))


def digamma(x):
    """The derivative of lgamma."""
    return unary.polygamma(x, n=0)


def mvlgamma(x, p):
    """The logarithm of the multivariate gamma function of dimension p. ValueError unless p is an int from 1 to 10,000."""
    if isinstance(p, bool) or not isinstance(p, int) or not 1 <= p <= 10_000:  # it takes p steps
        raise ValueError(f"mvlgamma: p is {p!r}, expected an int from 1 to 10,000")
    total = unary.lgamma(x)
    for i in range(1, p):
        total = elementwise.add(total, unary.lgamma(elementwise.sub(x, i / 2)))
    return elementwise.add(total, p * (p - 1) / 4 * math.log(math.pi))


def xlogy(x, y):
    """x * log(y), 0 where x is 0 and y is not NaN."""
    x, y = as_tensor_beside(x, y), as_tensor_beside(y, x)
    safe = binary.logical_and(elementwise.eq(x, 0), elementwise.le(y, 0))
    return elementwise.mul(x, elementwise.log(elementwise.where(safe, 1, y)))


def as_tensor_beside(x, other):
    """x, or a 0-d tensor of it where it is a number and `other` a tensor."""
    return x if hasattr(x, "spec") or not hasattr(other, "spec") else full_as(other.detach(), fill_value=x, dtype=None)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """x with NaN replaced by `nan` and the infinities by `posinf` and `neginf`, else by the largest finite numbers of its dtype."""
    if CATEGORIES[x.dtype] < 2:
        return elementwise.cast(x, dtype=x.dtype)
    high = largest(x.dtype)
    x = elementwise.where(unary.isnan(x), 0.0 if nan is None else nan, x)
    x = elementwise.where(elementwise.eq(x, math.inf), high if posinf is None else posinf, x)
    return elementwise.where(elementwise.eq(x, -math.inf), -high if neginf is None else neginf, x)


def largest(dtype):
    """The largest finite number of a float dtype."""
    return float(ml_dtypes.finfo(dtype).max)


def heaviside(input, values):
    """0 below 0, `values` at 0, 1 above; NaN for NaN."""
    step = elementwise.cast(elementwise.gt(input, 0), dtype=promote(input.dtype, values.dtype))
    return elementwise.where(elementwise.eq(input, 0), values, elementwise.where(unary.isnan(input), input, step))


def isposinf(x):
    """True where x is infinity."""
    return elementwise.eq(x, math.inf) if CATEGORIES[x.dtype] >= 2 else elementwise.ne(x, x)


def isneginf(x):
    """True where x is minus infinity."""
    return elementwise.eq(x, -math.inf) if CATEGORIES[x.dtype] >= 2 else elementwise.ne(x, x)


def isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """True where |input - other| <= atol + rtol * |other|, or they are equal infinities, or with `equal_nan` both NaN."""
    if rtol < 0 or atol < 0:
        raise ValueError(f"isclose: rtol {rtol} and atol {atol} must be 0 or more")
    if input.dtype is not other.dtype:
        raise TypeError(f"isclose: {input.spec} and {other.spec} must have one dtype")
    close = elementwise.eq(input, other)
    if equal_nan:
        close = binary.logical_or(close, binary.logical_and(elementwise.ne(input, input), elementwise.ne(other, other)))
    if CATEGORIES[input.dtype] == 0 or (rtol == 0 and atol == 0):
        return close
    wide = input if CATEGORIES[input.dtype] >= 2 else elementwise.cast(input, dtype=float64)
    beside = other if CATEGORIES[other.dtype] >= 2 else elementwise.cast(other, dtype=float64)
    finite = binary.logical_and(unary.isfinite(wide), unary.isfinite(beside))
    wide, beside = elementwise.where(finite, wide, 0.0), elementwise.where(finite, beside, 0.0)
    bound = elementwise.add(elementwise.mul(elementwise.abs(beside), rtol), atol)
    gap = elementwise.abs(elementwise.sub(wide, beside))
    return binary.logical_or(close, binary.logical_and(finite, elementwise.le(gap, bound)))


def allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """True, a Python bool, if isclose holds everywhere."""
    return bool(isclose(input, other, rtol, atol, equal_nan).data.all())


def equal(input, other):
    """True, a Python bool, if both have the same shape and elements; NaN equals nothing."""
    return input.shape == other.shape and bool(elementwise.eq(input, other).data.all())


def ldexp(x, other):
    """x * 2^other, of tensors both."""
    if not hasattr(x, "spec"):
        raise TypeError(f"ldexp: x is {x!r}, expected a tensor")
    power = unary.exp2(elementwise.cast(other, dtype=float32) if CATEGORIES[other.dtype] < 2 else other)
    return elementwise.mul(x, power)


def float_power(input, exponent):
    """input to the power exponent, in float64 (complex128 for complex numbers)."""
    kinds = [CATEGORIES[t.dtype] if hasattr(t, "spec") else 3 * isinstance(t, complex) for t in (input, exponent)]
    dtype = complex128 if max(kinds) == 3 else float64
    wide = [elementwise.cast(t, dtype=dtype) if hasattr(t, "spec") else t for t in (input, exponent)]
    return elementwise.pow(*wide)


def bitwise_not(x):
    """The bits that x has not; of bools, not."""
    if CATEGORIES[x.dtype] > 1:
        raise TypeError(f"bitwise_not: {x.spec} has no bits to turn; cast it to an integer type first")
    if x.dtype is bool_:
        return unary.logical_not(x)
    return binary.bitwise_xor(x, -1 if x.dtype.kind == "i" else 2 ** (8 * x.dtype.itemsize) - 1)


# Second names, of the array world's or PyTorch's own.
absolute, negative = elementwise.abs, elementwise.neg
arccos, arccosh, arcsin, arcsinh, arctan, arctanh = (
    unary.acos,
    unary.acosh,
    unary.asin,
    unary.asinh,
    unary.atan,
    unary.atanh,
)
arctan2, fix, clip, xor = binary.atan2, unary.trunc, clamp, binary.bitwise_xor
greater, greater_equal, less, less_equal, not_equal = (
    elementwise.gt,
    elementwise.ge,
    elementwise.lt,
    elementwise.le,
    elementwise.ne,
)

NEW = """square clamp clamp_min clamp_max relu lerp addcmul addcdiv frac deg2rad rad2deg sinc digamma mvlgamma xlogy nan_to_num
heaviside isposinf isneginf isclose allclose equal ldexp float_power bitwise_not absolute negative arccos arccosh
arcsin arcsinh arctan arctanh arctan2 fix clip greater greater_equal less less_equal
not_equal""".split()

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = NEW
METHODS = {**{name: globals()[name] for name in NEW}, "__invert__": bitwise_not}
