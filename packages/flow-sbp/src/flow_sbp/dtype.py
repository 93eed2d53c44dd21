"""Dtypes by name and size. bf16 is a name and two bytes: its arrays are numpy uint16 words; ml_dtypes is not needed."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DType:
    """How values of a dtype are stored and added."""

    name: str
    # short, as layouts print it: f32
    size: int
    # bytes of an element
    words: np.dtype
    # what numpy stores it as
    sums: np.dtype
    # what parts are combined in, before one rounding back


def _row(name, words, sums=None):
    words = np.dtype(words)
    return DType(name, words.itemsize, words, np.dtype(sums) if sums else words)


TABLE = {
    row.name: row
    for row in (
        _row("bool", "bool"),
        *(_row(f"i{8 * n}", f"i{n}") for n in (1, 2, 4, 8)),
        *(_row(f"u{8 * n}", f"u{n}") for n in (1, 2, 4, 8)),
        _row("f16", "f2", "f4"),
        _row("bf16", "u2", "f4"),
        _row("f32", "f4"),
        _row("f64", "f8"),
        _row("c64", "c8"),
        _row("c128", "c16"),
    )
}

_LONG = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}
_NAMES = {long + row.name[len(short) :]: row for long, short in _LONG.items() for row in TABLE.values()
          if row.name.rstrip("0123456789") == short}  # fmt: skip


def dtype_of(given):
    """The row of a dtype named as text ("f32", "float32"), as a numpy dtype or type, or by anything with a `name`.

    ValueError for a dtype that has no row.
    """
    if isinstance(given, DType):
        return given
    if isinstance(given, str):
        name = given
    elif isinstance(getattr(given, "name", None), str):
        name = given.name
    else:
        try:
            if given is None:  # which numpy takes for float64
                raise TypeError
            name = np.dtype(given).name
        except TypeError:
            raise TypeError(f'a dtype is a name such as "f32" or a numpy dtype, got {given!r}') from None
    row = TABLE.get(name) or _NAMES.get(name)
    if row is None:
        raise ValueError(f"unknown dtype {name!r}; known are {', '.join(TABLE)}")
    return row


def words_of(array, dtype):
    """The array as the words its dtype is stored in (a view). TypeError when its dtype is another one.

    bf16 arrays may come as uint16 words or as ml_dtypes' bfloat16.
    """
    array = np.asarray(array)
    if array.dtype == dtype.words:
        return array
    if dtype.name == "bf16" and array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    raise TypeError(f"expected an array of {dtype.name} (numpy {dtype.words}), got {array.dtype}; cast it first")


def widen(words, dtype):
    """Words -> the dtype that parts are combined in (a fresh array where that differs)."""
    if dtype.name == "bf16":
        return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return words.astype(dtype.sums, copy=False)


def narrow(sums, dtype):
    """The inverse of `widen`, rounded once to nearest even; NaN stays NaN."""
    if dtype.name == "bf16":
        bits = np.asarray(sums, dtype=np.float32).view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
        return np.where(np.isnan(sums), quiet, rounded).astype(np.uint16)
    with np.errstate(over="ignore"):
        return sums.astype(dtype.words, copy=False)
