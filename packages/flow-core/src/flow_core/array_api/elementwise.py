"""Functions of elements, one by one. Shapes broadcast, dtypes promote, and one of two arguments may be a Python number."""

import flow_core as flow
from flow_core.array_api.dtypes import promoted, result_type


def one(name, function):
    """The standard's function `name` of one tensor."""

    def elementwise(x, /):
        return function(x)

    elementwise.__name__ = elementwise.__qualname__ = name
    elementwise.__doc__ = function.__doc__
    return elementwise


def two(name, function):
    """The standard's function `name` of two tensors, or of a tensor and a Python number."""

    def elementwise(x1, x2, /):
        return function(*alike(x1, x2))

    elementwise.__name__ = elementwise.__qualname__ = name
    elementwise.__doc__ = function.__doc__
    return elementwise


def alike(x1, x2):
    """Both as tensors of the dtype that they promote to; a number is weak, a tensor without axes (which is weak in PyTorch) is not."""
    kinds = [hasattr(x, "spec") for x in (x1, x2)]
    if all(kinds):
        return (x1, x2) if x1.dtype is x2.dtype else promoted(x1, x2)
    if not any(kinds):
        raise TypeError(f"{x1!r} and {x2!r} are no tensors, expected one at least")
    dtype = result_type(x1, x2)
    return promoted(
        *[x if tensor else flow.full((), x, dtype=dtype) for x, tensor in zip((x1, x2), kinds, strict=True)]
    )


# The standard's name, and flow's where it is another.
ONE = """acos acosh asin asinh atan atanh bitwise_invert:bitwise_not cos cosh exp isfinite isinf isnan log log10 log1p log2
logical_not negative:neg reciprocal signbit sin sinh sqrt square tan tanh""".split()
TWO = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide:div equal:eq
greater:gt greater_equal:ge hypot less:lt less_equal:le logaddexp logical_and logical_or logical_xor maximum minimum multiply:mul
nextafter not_equal:ne pow remainder subtract:sub""".split()
globals().update(
    {name: make(name, getattr(flow, own or name))
     for make, names in ((one, ONE), (two, TWO))
     for name, _, own in (pair.partition(":") for pair in names)}
)  # fmt: skip


def is_complex(x):
    return x.dtype.kind == "c"


def abs(x, /):
    """|x|; of complex numbers their modulus, of a float dtype."""
    return flow.abs(x)


def conj(x, /):
    """The complex conjugates; real numbers as they are."""
    return flow.conj(x)


def real(x, /):
    """The real parts, of a float dtype; real numbers as they are."""
    return flow.real(x) if is_complex(x) else x


def imag(x, /):
    """The imaginary parts, of a float dtype; of real numbers zeros."""
    return flow.imag(x) if is_complex(x) else flow.zeros_like(x)


def positive(x, /):
    """+x: a copy. TypeError for bools."""
    if x.dtype.kind == "b":
        raise TypeError(f"positive: {x.spec} holds bools, which have no sign")
    return flow.cast(x, dtype=x.dtype)


def rounding(name, function):
    """A rounding that leaves integers as they are and takes complex numbers part by part where the standard does."""

    def elementwise(x, /):
        return function(x)

    elementwise.__name__ = elementwise.__qualname__ = name
    elementwise.__doc__ = function.__doc__
    return elementwise


ceil, floor, trunc = (rounding(name, getattr(flow, name)) for name in ("ceil", "floor", "trunc"))


def round(x, /):
    """The nearest whole number, the even one of two; of complex numbers for both parts."""
    return flow.complex(flow.rint(real(x)), flow.rint(imag(x))) if is_complex(x) else flow.rint(x)


def sign(x, /):
    """-1, 0 or 1; of complex numbers x / |x|, and 0 at 0."""
    if not is_complex(x):
        return flow.sign(x)
    zero = flow.eq(x, 0)
    return flow.where(zero, 0, flow.div(x, flow.where(zero, 1, abs(x))))


def expm1(x, /):
    """exp(x) - 1, exact also near 0."""
    out = flow.expm1(x)
    if not is_complex(x):
        return out
    # numpy's exp knows the infinities, its expm1 does not; the sum makes 0 of a real -0, as the standard has it.
    out = flow.where(flow.isfinite(x), out, flow.sub(flow.exp(x), 1))
    return flow.complex(flow.add(flow.real(out), 0), flow.imag(out))


def floor_divide(x1, x2, /):
    """floor(x1 / x2); where one of two floats is infinite their quotient, which is the standard's infinity or -0."""
    x1, x2 = alike(x1, x2)
    out = flow.floor_divide(x1, x2)
    if out.dtype.kind in "iu":
        return out
    quotient = flow.div(x1, x2)
    return flow.where(
        flow.logical_xor(flow.isfinite(x1), flow.isfinite(x2)), flow.where(flow.isnan(quotient), out, quotient), out
    )


def clip(x, /, min=None, max=None):
    """x where it lies between `min` and `max` (numbers or tensors that broadcast to one shape with x), else the nearer; x's dtype."""
    bounds = {}
    for name, bound in (("min", min), ("max", max)):
        if bound is not None:
            bounds[name] = flow.cast(bound, dtype=x.dtype) if hasattr(bound, "spec") else bound
    return flow.cast(flow.clamp(x, **bounds) if bounds else x, dtype=x.dtype)


NAMES = [pair.partition(":")[0] for pair in (*ONE, *TWO)]
NAMES += "abs ceil clip conj expm1 floor floor_divide imag positive real round sign trunc".split()
