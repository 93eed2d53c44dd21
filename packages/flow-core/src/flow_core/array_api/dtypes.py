"""Data types in the standard's words: kinds, limits, promotion, conversion."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import flow_core as flow
from flow_core.device import as_device
from flow_core.dtype import CATEGORIES, SCALAR_DEFAULTS, as_dtype, promote

# The dtypes of the standard by name; float16 and bfloat16, which it does not know, are usable beside them.
STANDARD = {
    name: getattr(flow.dtype, "bool_" if name == "bool" else name)
    for name in """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128""".split()
}
KINDS = {
    "bool": lambda dtype: dtype.kind == "b",
    "signed integer": lambda dtype: dtype.kind == "i",
    "unsigned integer": lambda dtype: dtype.kind == "u",
    "integral": lambda dtype: CATEGORIES[dtype] == 1,
    "real floating": lambda dtype: CATEGORIES[dtype] == 2,
    "complex floating": lambda dtype: CATEGORIES[dtype] == 3,
    "numeric": lambda dtype: CATEGORIES[dtype] > 0,
}


@dataclass(frozen=True)
class FloatLimits:
    """What finfo returns; the numbers are Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


@dataclass(frozen=True)
class IntegerLimits:
    """What iinfo returns; the numbers are Python ints."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def own_dtype(given):
    """The dtype of a tensor, or the one that `given` names."""
    return given.dtype if hasattr(given, "spec") else as_dtype(given)


def finfo(type, /):
    """The limits of a float dtype, or of the parts of a complex one; `type` may be a tensor. TypeError for other dtypes."""
    dtype = own_dtype(type)
    if CATEGORIES[dtype] < 2:
        raise TypeError(f"finfo: {dtype} is not a float or complex dtype; see iinfo")
    part = {flow.complex64: flow.float32, flow.complex128: flow.float64}.get(dtype, dtype)
    limits = ml_dtypes.finfo(part)
    numbers = [float(v) for v in (limits.eps, limits.max, limits.min, limits.smallest_normal)]
    return FloatLimits(8 * part.itemsize, *numbers, part)


def iinfo(type, /):
    """The limits of an integer dtype; `type` may be a tensor. TypeError for other dtypes."""
    dtype = own_dtype(type)
    if CATEGORIES[dtype] != 1:
        raise TypeError(f"iinfo: {dtype} is not an integer dtype; see finfo")
    limits = np.iinfo(dtype)
    return IntegerLimits(limits.bits, int(limits.max), int(limits.min), dtype)


def isdtype(dtype, kind):
    """True if `dtype` is of a kind ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
    "numeric"), is the dtype `kind`, or is so for one of a tuple of them. ValueError for an unknown kind."""
    if isinstance(kind, tuple):
        return any([isdtype(dtype, k) for k in kind])
    dtype = as_dtype(dtype)
    if not isinstance(kind, str):
        return dtype is as_dtype(kind)
    if kind not in KINDS:
        raise ValueError(f"isdtype: kind is {kind!r}, expected a dtype or one of {', '.join(KINDS)}")
    return KINDS[kind](dtype)


def can_cast(from_, to, /):
    """True if every value of a dtype, or of a tensor's, is one of the dtype `to`."""
    return bool(np.can_cast(own_dtype(from_), as_dtype(to)))


def result_type(*arrays_and_dtypes):
    """The dtype that tensors, dtypes and Python numbers (which are weak) promote to. TypeError if there is none, or numbers alone."""
    kinds = [type(a) if type(a) in SCALAR_DEFAULTS else own_dtype(a) for a in arrays_and_dtypes]
    dtypes = [k for k in kinds if isinstance(k, np.dtype)]
    if not dtypes:
        raise TypeError(f"result_type: {len(kinds)} Python numbers given, expected a tensor or a dtype among them")
    out = dtypes[0]
    for k in [*dtypes[1:], *[k for k in kinds if not isinstance(k, np.dtype)]]:
        out = promote(out, k)
    return out


def promoted(*tensors):
    """The tensors cast to the dtype that theirs promote to."""
    dtype = result_type(*tensors)
    return [t if t.dtype is dtype else flow.cast(t, dtype=dtype) for t in tensors]


def astype(x, dtype, /, *, copy=True, device=None):
    """x in another dtype: always new, or with copy=False x itself where nothing changes. TypeError from complex to real."""
    as_device(device)
    return x if not copy and as_dtype(dtype) is x.dtype else flow.cast(x, dtype=dtype)
