"""What calls are drawn with: dtypes, shapes, and arrays in every memory layout; and a call as plain data."""

import os
from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from flow_core.dtype import CATEGORIES, bfloat16, float16, float32, float64, promote
from flow_core.op import OPS
from flow_core.spec import SCALAR_SPECS
from flow_core.tensor import Tensor, from_numpy

DTYPES = tuple(CATEGORIES)
BOOL, INT, FLOAT, COMPLEX = range(4)  # the categories of dtypes, as in flow_core.dtype
FLOATS = (float32, float64, bfloat16, float16)
NIGHTLY = "FLOW_NIGHTLY" in os.environ


def examples(count):
    """Settings for a law: `count` examples, the same in every run; with FLOW_NIGHTLY set 20 times as many, new ones."""
    count *= 20 if NIGHTLY else 1
    return settings(max_examples=count, derandomize=not NIGHTLY, deadline=None, database=None)


class OpCall(NamedTuple):
    """A call of an op as plain data: the arrays, Python numbers and Nones that it takes, and its attributes."""

    name: str
    args: tuple
    attrs: dict

    @property
    def op(self):
        """The op."""
        return OPS[self.name]

    def tensors(self):
        """The arguments with tensors around copies of the arrays, in the arrays' memory layout."""
        return [from_numpy(copied(a)) if isinstance(a, np.ndarray) else a for a in self.args]

    def specs(self):
        """The arguments' specs, as infer takes them."""
        return [t.spec if type(t) is Tensor else None if t is None else SCALAR_SPECS[type(t)] for t in self.tensors()]

    def run(self):
        """What the op returns, always as a list."""
        out = self.op(*self.tensors(), **self.attrs)
        return list(out) if isinstance(out, tuple) else [out]


def copied(array):
    """A copy with the array's strides, so that what a kernel meets does not depend on who made the call."""
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.zeros(high - low, np.uint8)
    start = sum((n - 1) * -s for n, s in zip(array.shape, array.strides, strict=True) if s < 0) if array.size else 0
    out = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
    out[...] = array
    return out


def promotes(a, b):
    """Whether two dtypes have a common type."""
    try:
        return bool(promote(a, b))
    except TypeError:
        return False


class Draw:
    """What a row of CALLS draws with: hypothesis's draw, the dtypes to choose from, and numbers of one seed."""

    def __init__(self, draw, dtypes, smooth):
        self.draw = draw
        self.dtypes = dtypes
        self.smooth = smooth
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def dtype(self, *categories):
        """One of the dtypes of these categories."""
        return self.draw(st.sampled_from([d for d in self.dtypes if CATEGORIES[d] in categories]))

    def partner(self, dtype, *categories):
        """A dtype of these categories that promotes with `dtype`: uint64 and int8 have no common type."""
        return self.draw(
            st.sampled_from([d for d in self.dtypes if CATEGORIES[d] in categories and promotes(d, dtype)])
        )

    def shape(self, min_dims=0, max_dims=3, min_side=0):
        """A shape, of sides up to 4."""
        return tuple(self.draw(st.lists(st.integers(min_side, 4), min_size=min_dims, max_size=max_dims)))

    def narrowed(self, shape):
        """A shape that broadcasts to `shape`: sides become 1, leading dims go."""
        sides = [1 if self.draw(st.integers(0, 3)) == 0 else n for n in shape]
        return tuple(sides[self.draw(st.integers(0, len(sides))) if self.flag() else 0 :])

    def flag(self):
        return self.draw(st.booleans())

    def integer(self, low, high):
        return self.draw(st.integers(low, high))

    def one_of(self, *values):
        return self.draw(st.sampled_from(values))

    def dim(self, ndim):
        """A dim of a tensor of `ndim` dims, counted from either end."""
        return self.integer(-max(ndim, 1), max(ndim, 1) - 1)

    def dims(self, ndim):
        """None, one dim or several."""
        several = st.lists(st.integers(0, max(ndim, 1) - 1), unique=True, max_size=max(ndim, 1)).map(tuple)
        return self.draw(st.none() | st.just(self.dim(ndim)) | several)

    def array(self, shape, dtype, low=-2, high=2):
        """Elements in [low, high]: eighths, so that ties occur and 16 bits hold them; any if `smooth`."""
        order = self.one_of("plain", "plain", "transposed", "strided", "reversed")
        shape = shape[::-1] if order == "transposed" else shape
        wide = (*shape[:-1], 2 * shape[-1]) if order == "strided" and shape else shape
        array = self.values(wide, dtype, low, high)
        if order == "transposed":
            return array.T
        if order == "strided" and shape:
            return array[..., ::2]
        return array[..., ::-1] if order == "reversed" and shape else array

    def values(self, shape, dtype, low, high):
        category = CATEGORIES[dtype]
        if category == BOOL:
            return np.asarray(self.rng.random(shape) < 0.5)
        if category == INT:
            low = max(low, 0) if dtype.kind == "u" else low
            return np.asarray(self.rng.integers(int(np.ceil(low)), int(high) + 1, shape), dtype)
        if category == COMPLEX:
            return np.asarray(self.eighths(shape, low, high) + 1j * self.eighths(shape, low, high), dtype)
        return np.asarray(self.eighths(shape, low, high), dtype)

    def eighths(self, shape, low, high):
        if self.smooth:
            return self.rng.uniform(low, high, shape)
        return self.rng.integers(int(8 * low), int(8 * high) + 1, shape) / 8

    def number(self, low=-2, high=2):
        """A Python number of any type that promotes with floats."""
        return self.one_of(int(high), float(self.values((), float64, low, high)))
