"""Elementwise ops of two arguments beyond arithmetic: angles and lengths, remainders, logic and bits."""

import numpy as np

from flow_core.dtype import bool_
from flow_core.ops.elementwise import BINARY, BOOL, COMPLEX, FLOAT, INTEGER, elementwise

# Of the ops that PyTorch defines for two tensors alone, a Python number is refused as it is there.
TENSORS = "Shapes broadcast, dtypes promote. ValueError if the shapes do not broadcast, TypeError for a Python number."
SECOND = "Shapes broadcast, dtypes promote; y may be a Python number. ValueError if the shapes do not broadcast."
NOTES = {(): TENSORS, (1,): SECOND, (0, 1): BINARY}


def floating(name, ufunc, doc, numbers=()):
    """An op whose result is a float: integers give float32."""
    return elementwise(
        name, as_float(ufunc), f"{doc} {NOTES[numbers]}", least=FLOAT, quiet=True, refuses=(COMPLEX,), numbers=numbers
    )


def as_float(ufunc):
    """A numpy function of two floats in their dtype; numpy lacks some for bfloat16, which is then taken in float32."""

    def run(x, y):  # one of them may be a Python number
        dtype = getattr(x, "dtype", None) or y.dtype
        if dtype.kind == "f":
            return ufunc(x, y)
        return np.asarray(ufunc(np.asarray(x, np.float32), np.asarray(y, np.float32))).astype(dtype)

    return run


def whole_divisor(name, ufunc):
    """The ufunc, which refuses to divide integers by 0 (ValueError), as there is no number to return."""

    def run(x, y):
        if (x if isinstance(x, np.ndarray) else y).dtype.kind in "iu" and np.any(y == 0):
            raise ValueError(f"{name}: an integer is divided by 0")
        return ufunc(x, y)

    return run


def number(name, ufunc, doc, numbers=(0, 1), refuses=(BOOL, COMPLEX)):
    """An op on integers and floats, not on bools and complex numbers."""
    return elementwise(name, ufunc, f"{doc} {NOTES[numbers]}", quiet=True, refuses=refuses, numbers=numbers)


def logical(name, ufunc, doc):
    """An op whose result is a bool."""
    return elementwise(name, ufunc, f"{doc} Returns bools. {TENSORS}", result=bool_, numbers=())


def bitwise(name, ufunc, doc):
    """An op on the bits of integers and bools."""
    return elementwise(name, ufunc, f"{doc} {BINARY}", refuses=(FLOAT, COMPLEX))


def whole(name, ufunc, doc, numbers=(0, 1)):
    """An op on integers alone."""
    return elementwise(name, ufunc, f"{doc} {NOTES[numbers]}", refuses=(BOOL, FLOAT, COMPLEX), numbers=numbers)


atan2 = floating(
    "atan2", np.arctan2, "The angle in [-pi, pi] of the point whose ordinate is x and whose abscissa is y."
)
copysign = floating("copysign", np.copysign, "|x| with the sign of y.", (1,))
hypot = floating("hypot", np.hypot, "sqrt(x^2 + y^2) without overflow on the way.")
logaddexp = floating("logaddexp", np.logaddexp, "log(exp(x) + exp(y)) without overflow on the way.")
logaddexp2 = floating("logaddexp2", np.logaddexp2, "log2(2^x + 2^y) without overflow on the way.")
nextafter = elementwise(
    "nextafter",
    np.nextafter,
    f"The float after x in the direction of y. {TENSORS}",
    quiet=True,
    refuses=(BOOL, INTEGER, COMPLEX),
    numbers=(),
)

fmax = number("fmax", np.fmax, "The larger of x and y; the other where one is NaN.", (), (COMPLEX,))
fmin = number("fmin", np.fmin, "The smaller of x and y; the other where one is NaN.", (), (COMPLEX,))
fmod = number("fmod", whole_divisor("fmod", np.fmod), "x - y trunc(x / y): the remainder with the sign of x.", (1,))
remainder = number(
    "remainder", whole_divisor("remainder", np.remainder), "x - y floor(x / y): the remainder with the sign of y."
)
floor_divide = number("floor_divide", whole_divisor("floor_divide", np.floor_divide), "floor(x / y).")


def log_loss(x, y):
    """-(y log(x) + (1 - y) log(1 - x)), the logarithms not below -100; ValueError for an x outside [0, 1]."""
    if not np.all((x >= 0) & (x <= 1)):
        raise ValueError("binary_cross_entropy: an element of input is not in [0, 1]; is it a logit?")
    return (y - 1) * np.maximum(np.log1p(-x), -100) - y * np.maximum(np.log(x), -100)


binary_cross_entropy = elementwise(
    "binary_cross_entropy",
    as_float(log_loss),
    f"The cross entropy of the probabilities y and x, -(y log(x) + (1 - y) log(1 - x)), no logarithm below -100. {TENSORS}",
    quiet=True,
    refuses=(BOOL, INTEGER, COMPLEX),
    numbers=(),
)

logical_and = logical("logical_and", np.logical_and, "True where neither x nor y is 0.")
logical_or = logical("logical_or", np.logical_or, "True where x or y is not 0.")
logical_xor = logical("logical_xor", np.logical_xor, "True where one of x and y is 0 and the other is not.")

bitwise_and = bitwise("bitwise_and", np.bitwise_and, "The bits that x and y both have; of bools, and.")
bitwise_or = bitwise("bitwise_or", np.bitwise_or, "The bits that x or y has; of bools, or.")
bitwise_xor = bitwise("bitwise_xor", np.bitwise_xor, "The bits that one of x and y has; of bools, exclusive or.")

bitwise_left_shift = whole("bitwise_left_shift", np.left_shift, "x times 2 to the power y.")
bitwise_right_shift = whole("bitwise_right_shift", np.right_shift, "x over 2 to the power y, rounded down.")
gcd = whole("gcd", np.gcd, "The greatest common divisor.", ())
lcm = whole("lcm", np.lcm, "The least common multiple.", ())
