"""The rows of CALLS for elementwise ops of one or two arguments."""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, int32, int64, uint8
from flow_core.testing.draw import BOOL, COMPLEX, DTYPES, FLOAT, INT


def unary(*categories, low=-2, high=2):
    return lambda d: ([d.array(d.shape(), d.dtype(*categories), low, high)], {})


def binary(*categories, low=-2, high=2, numbers=(0, 1)):
    def row(d):
        shape = d.shape()
        dtype = d.dtype(*categories)
        args = [d.array(d.narrowed(shape), t, low, high) for t in (dtype, d.partner(dtype, *categories))]
        # A Python number has no bounds of a narrow integer type to keep, so it comes with floats.
        if numbers and FLOAT in categories and CATEGORIES[args[0].dtype] >= FLOAT and d.integer(0, 3) == 0:
            args[1] = d.number(low, high)
            args = args[::-1] if 0 in numbers and d.flag() else args
        return args, {}

    return row


def power(d):
    if d.integer(0, 3) == 0 and d.dtypes == DTYPES:
        return [d.array(d.shape(), d.dtype(INT)), d.integer(0, 3)], {}
    args, _ = binary(FLOAT, low=0.5)(d)
    if isinstance(args[0], np.ndarray) and d.flag():
        args[1] = d.one_of(2, 3, 0, 1, -1, 0.5)
    return args, {}


def whole(low, high, *more):
    """Calls on integers (and `more` dtypes), whatever dtypes the draw is of: such an op takes no others."""

    def row(d):
        shape, dtype = d.shape(), d.one_of(uint8, int32, int64, *more)
        return [d.array(d.narrowed(shape), dtype, low, high) for _ in range(2)], {}

    return row


def log_loss(d):
    shape = d.shape()
    dtype = d.dtype(FLOAT)
    return [d.array(d.narrowed(shape), t, 0.125, 0.875) for t in (dtype, d.partner(dtype, FLOAT))], {}


def polygamma(d):
    return [d.array(d.shape(), d.dtype(INT, FLOAT), 0.5)], {"n": d.integer(0, 2)}


def softplus(d):
    return [d.array(d.shape(), d.dtype(FLOAT))], {"beta": d.one_of(1.0, 0.5, -2.0), "threshold": d.one_of(20.0, 3.9)}


NUMBERS = (BOOL, INT, FLOAT, COMPLEX)
POINTWISE = {
    **dict.fromkeys("add mul".split(), binary(BOOL, INT, FLOAT, COMPLEX)),
    **dict.fromkeys("eq ne".split(), binary(BOOL, INT, FLOAT, COMPLEX, numbers=(1,))),
    **dict.fromkeys("maximum minimum".split(), binary(BOOL, INT, FLOAT)),
    **dict.fromkeys("lt le gt ge".split(), binary(BOOL, INT, FLOAT, numbers=(1,))),
    "sub": binary(INT, FLOAT, COMPLEX),
    "div": binary(INT, FLOAT, COMPLEX, low=0.5),
    "pow": power,
    "neg": unary(INT, FLOAT, COMPLEX),
    "abs": unary(BOOL, INT, FLOAT, COMPLEX),
    **dict.fromkeys(["exp", "tanh"], unary(BOOL, INT, FLOAT, COMPLEX)),
    **dict.fromkeys("log sqrt rsqrt".split(), unary(BOOL, INT, FLOAT, COMPLEX, low=0.5)),
    **dict.fromkeys(["sigmoid", "erf"], unary(BOOL, INT, FLOAT)),
    **dict.fromkeys("asinh cos exp2 expm1 sin sinh cosh".split(), unary(*NUMBERS)),
    **dict.fromkeys("acos asin atanh".split(), unary(FLOAT, low=-0.875, high=0.875)),
    "acosh": unary(INT, FLOAT, low=1.25),
    **dict.fromkeys("atan tan".split(), unary(BOOL, INT, FLOAT, low=-1.25, high=1.25)),
    **dict.fromkeys("log10 log2 reciprocal".split(), unary(INT, FLOAT, low=0.5)),
    "log1p": unary(BOOL, INT, FLOAT, low=-0.5),
    "erfc": unary(BOOL, INT, FLOAT),
    "erfinv": unary(FLOAT, low=-0.875, high=0.875),
    "lgamma": unary(INT, FLOAT, low=0.5),
    "polygamma": polygamma,
    "softplus": softplus,
    **dict.fromkeys("ceil floor trunc rint".split(), unary(INT, FLOAT)),
    "sign": unary(BOOL, INT, FLOAT),
    **dict.fromkeys("isfinite isinf isnan logical_not".split(), unary(*NUMBERS)),
    **dict.fromkeys("atan2 hypot".split(), binary(INT, FLOAT, low=0.5, numbers=())),
    "binary_cross_entropy": log_loss,
    "copysign": binary(INT, FLOAT, low=0.25, numbers=(1,)),
    **dict.fromkeys("logaddexp logaddexp2".split(), binary(INT, FLOAT, low=0.25, numbers=())),
    **dict.fromkeys("fmax fmin".split(), binary(BOOL, INT, FLOAT, numbers=())),
    "fmod": binary(INT, FLOAT, low=0.625, high=1.125, numbers=(1,)),
    **dict.fromkeys("remainder floor_divide".split(), binary(INT, FLOAT, low=0.625, high=1.125)),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), binary(*NUMBERS, numbers=())),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), whole(0, 9, bool_)),
    **dict.fromkeys("bitwise_left_shift bitwise_right_shift".split(), whole(0, 3)),
    **dict.fromkeys("gcd lcm".split(), whole(0, 12)),
    "signbit": unary(BOOL, INT, FLOAT),
    "frexp": unary(FLOAT),
    "nextafter": binary(FLOAT, numbers=()),
}
