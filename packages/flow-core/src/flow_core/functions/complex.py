"""Functions of complex numbers and their parts, in terms of ops; most take real numbers too."""

import math

from flow_core.dtype import CATEGORIES, bool_, float32
from flow_core.ops import binary, decomposition, elementwise, unary
from flow_core.ops.complex import WHOLES, view_as_complex, view_as_real
from flow_core.ops.creation import full_as
from flow_core.ops.index import slice_
from flow_core.ops.shape import stack


def is_complex(x):
    """True if x's dtype is complex64 or complex128."""
    return CATEGORIES[x.dtype] == 3


def part(x, i):
    """The real (0) or imaginary (1) parts of complex x, a view."""
    pairs = view_as_real(x)
    return slice_(pairs, index=(*[("slice", None, None, None)] * x.ndim, i))


def real(x):
    """The real parts of x: a view of complex numbers, x itself otherwise."""
    return part(x, 0) if is_complex(x) else x


def imag(x):
    """The imaginary parts of complex x, a view. TypeError for other types."""
    if not is_complex(x):
        raise TypeError(f"imag: {x.spec} does not hold complex numbers")
    return part(x, 1)


def conj(x):
    """x with the signs of its imaginary parts turned; x itself where it holds real numbers."""
    return decomposition.conjugate(x) if is_complex(x) else x


def conj_physical(x):
    """As conj, and a copy of real numbers too."""
    return decomposition.conjugate(x) if is_complex(x) else elementwise.cast(x, dtype=x.dtype)


def resolve(x):
    """x: conjugates and negatives are made at once here, and nothing is left to resolve."""
    return x


def never(x):
    """False: conjugates and negatives are made at once here, and no tensor stands for one."""
    return False


def complex(real, imag):
    """The complex numbers of two tensors of parts, which broadcast. TypeError unless both are float32, or both float64."""
    check_parts("complex", real, imag)
    shape = binary.atan2.infer(real.spec, imag.spec).shape
    return view_as_complex(stack([spread(real, shape), spread(imag, shape)], dim=-1))


def spread(x, shape):
    return x if x.shape == shape else x.expand(shape)


def polar(abs, angle):
    """The complex numbers of absolute values and angles, two tensors that broadcast. TypeError unless both are float32, or float64."""
    check_parts("polar", abs, angle)
    return complex(elementwise.mul(abs, unary.cos(angle)), elementwise.mul(abs, unary.sin(angle)))


def check_parts(name, a, b):
    for t in (a, b):
        if not hasattr(t, "spec"):
            raise TypeError(f"{name}: an argument is a {type(t).__name__}, expected a tensor")
        if t.dtype not in WHOLES:
            raise TypeError(f"{name}: {t.spec} is neither float32 nor float64")
    if a.dtype is not b.dtype:
        raise TypeError(f"{name}: {a.spec} and {b.spec} must have one dtype")


def angle(x):
    """The angle of complex x in (-pi, pi]; of real numbers pi below 0, 0 elsewhere, NaN of NaN. Integers and bools give float32."""
    if is_complex(x):
        return binary.atan2(imag(x), real(x))
    x = x if CATEGORIES[x.dtype] == 2 else elementwise.cast(x, dtype=float32)
    return elementwise.where(unary.isnan(x), x, elementwise.where(elementwise.lt(x, 0), math.pi, 0.0))


def isreal(x):
    """True where the imaginary part is 0, as it is of all real numbers."""
    return elementwise.eq(imag(x), 0) if is_complex(x) else full_as(x.detach(), fill_value=True, dtype=bool_)


def sgn(x):
    """x / |x|, and 0 of 0; of real numbers, their sign."""
    if not is_complex(x):
        return unary.sign(x)
    size = elementwise.abs(x)
    return elementwise.div(x, elementwise.where(elementwise.eq(size, 0), 1, size))


resolve_conj = resolve_neg = resolve
is_conj = is_neg = never

# The names that flow_core takes over, and those that tensors have as methods.
METHOD_NAMES = """is_complex conj conj_physical resolve_conj resolve_neg is_conj is_neg angle isreal sgn""".split()
__all__ = [*METHOD_NAMES, "real", "imag", "complex", "polar", "view_as_real", "view_as_complex"]
METHODS = {**{name: globals()[name] for name in METHOD_NAMES}, "real": property(real), "imag": property(imag)}
