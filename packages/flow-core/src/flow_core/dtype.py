"""Element types, and the type that two of them promote to.

A dtype is a numpy dtype object (bfloat16 is ml_dtypes'), so that `x.dtype == flow.float32` and numpy agree without a table between them.
"""

import ml_dtypes
import numpy as np

bool_ = np.dtype("bool")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float16 = np.dtype("float16")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")

# The category of each type: a value of a higher category decides the result's type alone.
CATEGORIES = {
    bool_: 0,
    **dict.fromkeys((uint8, uint16, uint32, uint64, int8, int16, int32, int64), 1),
    **dict.fromkeys((bfloat16, float16, float32, float64), 2),
    **dict.fromkeys((complex64, complex128), 3),
}
# numpy has several objects for some types (int64 is two C types, and has two byte orders): ours are compared by `is`.
CANONICAL = {d: dtype for dtype in CATEGORIES for d in (dtype, dtype.newbyteorder())}
# What a Python scalar becomes where no tensor of its category or a higher one decides.
SCALAR_DEFAULTS = {bool: bool_, int: int64, float: float32, complex: complex64}
SCALAR_CATEGORIES = {bool: 0, int: 1, float: 2, complex: 3}
SHORT_NAMES = {bfloat16: "bf16", bool_: "bool"}


def as_dtype(given):
    """The dtype named by a dtype, a string ("float32", or "f32" as specs print it) or a scalar type; ValueError for any other."""
    if isinstance(given, type) and given in SCALAR_DEFAULTS:
        return SCALAR_DEFAULTS[given]
    try:  # numpy counts bytes in a short name and specs count bits, so a string is never left to numpy: its "i8" is int64
        dtype = NAMED.get(given) if isinstance(given, str) else CANONICAL.get(np.dtype(given))
    except TypeError:
        dtype = None
    if given is None or dtype is None:
        names = ", ".join(str(d) for d in CATEGORIES)
        raise ValueError(f"dtype {given!r} is not one of {names}")
    return dtype


def promote(a, b):
    """The dtype of an op on dtypes `a` and `b`; either may be a Python scalar type, which is weak.

    The rule is PyTorch's: within a category the wider type (bfloat16 with float16 gives float32), otherwise the type of the
    higher category, whatever its width (int64 with float16 gives float16).
    """
    if a is b:
        return SCALAR_DEFAULTS.get(a, a)
    rank_a, rank_b = category(a), category(b)
    if rank_a != rank_b:
        high, low = (a, b) if rank_a > rank_b else (b, a)
        if high is complex and low is float64:  # by `is`: numpy finds the type float equal to float64
            return complex128
        if high in SCALAR_DEFAULTS:
            return SCALAR_DEFAULTS[high]
        return complex128 if rank_a + rank_b == 5 and low is float64 else high
    if a in SCALAR_DEFAULTS:
        return b
    if b in SCALAR_DEFAULTS:
        return a
    if {a, b} == {bfloat16, float16}:
        return float32
    wide = np.promote_types(a, b)
    if category(wide) != rank_a:
        raise TypeError(f"{a} and {b} promote to no integer type: cast one of them first, as in x.to(flow.{b})")
    return wide


def promote_types(type1, type2):
    """The dtype that tensors of these dtypes promote to. TypeError for what is no dtype, and for pairs that promote to none."""
    return promote(as_dtype(type1), as_dtype(type2))


def category(dtype):
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers; of a dtype or of a Python scalar type."""
    return SCALAR_CATEGORIES[dtype] if isinstance(dtype, type) else CATEGORIES[dtype]


def is_floating(dtype):
    """True for float dtypes: those that a gradient can have. (The rules know no conjugates, so complex numbers have none.)"""
    return CATEGORIES[dtype] == 2


def short_name(dtype):
    """A dtype's name as layouts and specs print it: f32, bf16, i64, bool."""
    return SHORT_NAMES.get(dtype) or f"{dtype.kind}{8 * dtype.itemsize}"


NAMED = {name: dtype for dtype in CATEGORIES for name in (str(dtype), short_name(dtype))}
