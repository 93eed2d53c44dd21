"""What a tensor tells of itself: sizes, bytes, the kind of its dtype; and its casts to each dtype by name."""

import warnings

from flow_core import dtype as types
from flow_core.device import as_device
from flow_core.dtype import CATEGORIES, as_dtype
from flow_core.functions.complex import real
from flow_core.ops import elementwise
from flow_core.spec import as_dim


class Size(int):
    """The number of a tensor's elements, as the array world has it; called, its shape or the size of one dim, as PyTorch has it."""

    def __new__(cls, spec):
        size = super().__new__(cls, spec.size)
        size.shape = spec.shape
        return size

    def __call__(self, dim=None):
        """The shape, or the size of one dim."""
        return self.shape if dim is None else self.shape[self.place(dim)]

    def place(self, dim):
        if not self.shape:
            raise IndexError(f"size: dim {dim} of a 0-d tensor")
        return as_dim("size", dim, len(self.shape))


def size(self):
    """The number of elements, an int that can be called: x.size() is the shape, x.size(0) the size of a dim."""
    return Size(self.spec)


def numel(x):
    """The number of elements."""
    return x.spec.size


def element_size(self):
    """The bytes of one element."""
    return self.dtype.itemsize


def nbytes(self):
    """The bytes of all elements."""
    return self.spec.size * self.dtype.itemsize


def is_floating_point(x):
    """True if x's dtype is a float type."""
    return CATEGORIES[x.dtype] == 2


def is_signed(x):
    """True if x's dtype has numbers below 0."""
    return x.dtype.kind not in "bu"


def is_same_size(x, other):
    """True if both have the same shape."""
    return x.shape == other.shape


def is_nonzero(x):
    """Whether the one element of x is not 0; ValueError for any other number of elements."""
    return bool(x.item())


def is_tensor(x):
    """True for a tensor, local or global."""
    return hasattr(x, "spec") and hasattr(x, "grad_fn")


def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False):
    """The tensor in another dtype or on another device, given by position or name, or like another tensor.

    Itself if nothing changes, unless `copy`. Complex numbers lose their imaginary parts with a warning where the dtype is real.
    """
    for i, arg in enumerate(args):
        if isinstance(arg, bool):
            copy = arg if i == len(args) - 1 and any(isinstance(a, bool) for a in args[:-1]) else copy
        elif hasattr(arg, "spec"):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, str) and arg.split(":")[0] in ("cpu", "cuda"):
            device = arg
        elif arg is self.device:
            device = arg
        else:
            dtype = arg
    as_device(device)
    dtype = self.dtype if dtype is None else as_dtype(dtype)
    if dtype is self.dtype:
        return elementwise.cast(self, dtype=dtype) if copy else self
    if CATEGORIES[self.dtype] == 3 and CATEGORIES[dtype] < 3:
        if dtype is types.bool_:
            return elementwise.ne(self, 0)
        warnings.warn(
            f"to: {self.spec} to {dtype} drops the imaginary parts; take real(x) to say so", UserWarning, stacklevel=2
        )
        self = real(self)
        if dtype is self.dtype:
            return elementwise.cast(self, dtype=dtype)
    return elementwise.cast(self, dtype=dtype)


def type_as(self, other):
    """The tensor in the dtype of `other`."""
    return to(self, other.dtype)


def cast_to(dtype):
    def method(self):
        return to(self, dtype)

    method.__doc__ = f"The tensor in {dtype}; itself if it has that type."
    return method


def chalf(self):
    """TypeError: there are no complex numbers of two 16-bit floats here."""
    raise TypeError("chalf: there is no dtype of complex numbers of 16-bit floats; use cfloat()")


CASTS = {
    "byte": types.uint8,
    "char": types.int8,
    "short": types.int16,
    "int": types.int32,
    "long": types.int64,
    "half": types.float16,
    "bfloat16": types.bfloat16,
    "float": types.float32,
    "double": types.float64,
    "bool": types.bool_,
    "cfloat": types.complex64,
    "cdouble": types.complex128,
}

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = ["is_floating_point", "is_nonzero", "is_same_size", "is_signed", "is_tensor", "numel"]
METHODS = {
    **{name: cast_to(dtype) for name, dtype in CASTS.items()},
    "chalf": chalf,
    "to": to,
    "type_as": type_as,
    "size": property(size),
    "numel": numel,
    "nelement": numel,
    "element_size": element_size,
    "itemsize": property(element_size),
    "nbytes": property(nbytes),
    "dim": lambda self: self.ndim,
    "ndimension": lambda self: self.ndim,
    "is_floating_point": is_floating_point,
    "is_signed": is_signed,
    "is_same_size": is_same_size,
    "is_nonzero": is_nonzero,
}
