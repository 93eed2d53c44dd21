"""Tensors from sizes and numbers, alone or like another tensor; and filling one."""

import numpy as np

from flow_core.device import as_device
from flow_core.dtype import CATEGORIES, as_dtype, bool_, float32
from flow_core.ops import creation, elementwise, inplace
from flow_core.spec import TensorSpec, as_count, as_shape, num_elements
from flow_core.tensor import from_numpy, new_tensor
from flow_core.tensor import tensor as tensor_of

# What PyTorch's functions take beside dtype and device, and the values that mean what is done here anyway.
DEFAULTS = {"layout": None, "pin_memory": False, "memory_format": None, "out": None, "names": None}


def check_options(name, options):
    """TypeError for an option that is none of PyTorch's, ValueError for one that asks for what is not done here."""
    for option, value in options.items():
        if option not in DEFAULTS:
            raise TypeError(f"{name}: {option} is none of its arguments")
        if value not in (None, DEFAULTS[option]):
            raise ValueError(
                f"{name}: {option}={value!r} is not supported: tensors are plain arrays in row-major order"
            )


def size_of(name, size, options):
    """The shape that a call gives as sizes, one sequence, or by the name `size` or `shape`."""
    for word in ("size", "shape"):
        if word in options:
            if size:
                raise TypeError(f"{name}: the size is given twice")
            size = (options.pop(word),)
    check_options(name, options)
    return as_shape(name, creation.sizes(size))


def full(size=None, fill_value=None, *, shape=None, dtype=None, device=None, requires_grad=False, **options):
    """A tensor of `size` (or `shape`) with every element `fill_value`, a number or 0-d tensor, which decides the dtype if none is given."""
    check_options("full", options)
    if (size is None) == (shape is None):
        raise TypeError("full: give size or shape, one of them")
    if fill_value is None:
        raise TypeError("full: fill_value is missing")
    value = number("full", fill_value)
    if dtype is None and hasattr(fill_value, "spec"):
        dtype = fill_value.dtype
    size = as_shape("full", shape if size is None else size)
    return creation.full(shape=size, fill_value=value, dtype=dtype, device=device).requires_grad_(requires_grad)


def number(name, value):
    """The Python number of a number, a 0-d tensor or an array of one element."""
    if hasattr(value, "spec"):
        if value.ndim:
            raise ValueError(f"{name}: a value is {value.spec}, expected a number or a 0-d tensor")
        return value.item()
    return value.item() if isinstance(value, np.generic) else value


def filled(name, value, size, dtype, device, requires_grad):
    dtype = float32 if dtype is None else dtype
    return creation.full(shape=size, fill_value=value, dtype=dtype, device=device).requires_grad_(requires_grad)


def zeros(*size, dtype=None, device=None, requires_grad=False, **options):
    """Zeros of a size given as ints or as one sequence; float32 unless `dtype` says otherwise."""
    return filled("zeros", 0, size_of("zeros", size, options), dtype, device, requires_grad)


def ones(*size, dtype=None, device=None, requires_grad=False, **options):
    """Ones of a size given as ints or as one sequence; float32 unless `dtype` says otherwise."""
    return filled("ones", 1, size_of("ones", size, options), dtype, device, requires_grad)


def empty(*size, dtype=None, device=None, requires_grad=False, **options):
    """A tensor of a size whose elements mean nothing yet (they are zeros, so that a run can be repeated)."""
    return filled("empty", 0, size_of("empty", size, options), dtype, device, requires_grad)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False, **options):
    """As empty, with elements that lie `stride[d]` apart along dim d. ValueError for a negative stride."""
    check_options("empty_strided", options)
    size, stride = as_shape("empty_strided", size), as_shape("empty_strided", stride)
    if len(size) != len(stride):
        raise ValueError(f"empty_strided: size {size} and stride {stride} differ in their number of dims")
    dtype = float32 if dtype is None else as_dtype(dtype)
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if num_elements(size) else -1
    memory = np.zeros(last + 1, dtype)
    array = np.lib.stride_tricks.as_strided(memory, size, [step * dtype.itemsize for step in stride])
    return new_tensor(array, TensorSpec(size, dtype, as_device(device))).requires_grad_(requires_grad)


def empty_permuted(size, physical_layout, *, dtype=None, device=None, requires_grad=False, **options):
    """As empty, with memory that is contiguous for the dims in the order `physical_layout`."""
    check_options("empty_permuted", options)
    size = as_shape("empty_permuted", size)
    order = as_shape("empty_permuted", physical_layout)
    if sorted(order) != list(range(len(size))):
        raise ValueError(f"empty_permuted: physical_layout {order} is no order of the {len(size)} dims of size {size}")
    dtype = float32 if dtype is None else as_dtype(dtype)
    memory = np.zeros([size[d] for d in order], dtype)
    array = memory.transpose(np.argsort(np.asarray(order, int)))
    return new_tensor(array, TensorSpec(size, dtype, as_device(device))).requires_grad_(requires_grad)


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False, **options):
    """The matrix (n, m), m = n by default, with ones on its diagonal and zeros elsewhere."""
    check_options("eye", options)
    n = as_count("eye", "n", n)
    m = n if m is None else as_count("eye", "m", m)
    as_device(device)
    return from_numpy(np.eye(n, m, dtype=as_dtype(dtype or float32))).requires_grad_(requires_grad)


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False, **options):
    """The numbers from `start` (0 if only one bound is given) by `step` up to but without `end`, in one dim."""
    check_options("arange", options)
    start, end, step = (number("arange", v) for v in (start, end, step))
    return creation.arange(start, end, step, dtype=dtype, device=device).requires_grad_(requires_grad)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False, **options):
    """The 0-d tensor of a number; float32 unless `dtype` says otherwise."""
    check_options("scalar_tensor", options)
    return full_of((), number("scalar_tensor", s), dtype or float32, device).requires_grad_(requires_grad)


def full_of(size, value, dtype, device=None):
    """As full, of a number that is first cast to dtype: a float is cut, and any number is True but 0."""
    return creation.full(shape=size, fill_value=as_number("full", value, dtype), dtype=dtype, device=device)


def as_number(name, value, dtype):
    """A Python number as one of `dtype`: of bools, whether it is not 0; of integers, without its fraction."""
    category = CATEGORIES[as_dtype(dtype)]
    if isinstance(value, complex) and category < 3:
        raise TypeError(f"{name}: {value} is complex and {dtype} is not")
    return bool(value) if category == 0 else int(value) if category == 1 else value


def like(name, x, value, dtype, device, requires_grad, options):
    check_options(name, options)
    as_device(device)
    value = number(name, value)
    return creation.full_as(x.detach(), fill_value=value, dtype=dtype).requires_grad_(requires_grad)


def full_like(x, fill_value, *, dtype=None, device=None, requires_grad=False, **options):
    """A tensor of x's shape, dtype (unless given) and layout with every element `fill_value`."""
    value = as_number("full_like", number("full_like", fill_value), dtype or x.dtype)
    return like("full_like", x, value, dtype, device, requires_grad, options)


def zeros_like(x, *, dtype=None, device=None, requires_grad=False, **options):
    """Zeros of x's shape, dtype (unless given) and layout."""
    return like("zeros_like", x, 0, dtype, device, requires_grad, options)


def ones_like(x, *, dtype=None, device=None, requires_grad=False, **options):
    """Ones of x's shape, dtype (unless given) and layout."""
    return like("ones_like", x, 1, dtype, device, requires_grad, options)


def empty_like(x, *, dtype=None, device=None, requires_grad=False, **options):
    """As empty, of x's shape, dtype (unless given) and layout."""
    return like("empty_like", x, 0, dtype, device, requires_grad, options)


def new_zeros(self, *size, dtype=None, device=None, requires_grad=False, **options):
    """Zeros of a size, in self's dtype unless another is given."""
    return zeros(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad, **options)


def new_ones(self, *size, dtype=None, device=None, requires_grad=False, **options):
    """Ones of a size, in self's dtype unless another is given."""
    return ones(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad, **options)


def new_empty(self, *size, dtype=None, device=None, requires_grad=False, **options):
    """As empty, in self's dtype unless another is given."""
    return empty(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad, **options)


def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, **options):
    """A tensor of `size` with every element `fill_value`, in self's dtype unless another is given."""
    check_options("new_full", options)
    size = as_shape("new_full", size)
    return full_of(size, number("new_full", fill_value), dtype or self.dtype, device).requires_grad_(requires_grad)


def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False, **options):
    """As empty_strided, in self's dtype unless another is given."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad, **options)


def new_tensor_of(self, data, *, dtype=None, device=None, requires_grad=False, **options):
    """A tensor of a copy of `data`, in self's dtype unless another is given."""
    check_options("new_tensor", options)
    return tensor_of(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


def fill(x, value):
    """A tensor like x with every element `value`, a number or a 0-d tensor, to which the gradient flows."""
    if hasattr(value, "spec"):
        if value.ndim:
            raise ValueError(f"fill: value is {value.spec}, expected a number or a 0-d tensor")
        value = value if value.dtype is x.dtype else value.to(x.dtype)
    else:
        value = as_number("fill", number("fill", value), x.dtype)
    return elementwise.where(creation.full_as(x.detach(), fill_value=True, dtype=bool_), value, x)


def fill_(self, value):
    """Overwrites self with `value`, a number or a 0-d tensor; returns self."""
    if hasattr(value, "spec") and value.ndim:
        raise ValueError(f"fill_: value is {value.spec}, expected a number or a 0-d tensor")
    value = value.to(self.dtype) if hasattr(value, "spec") else as_number("fill_", number("fill_", value), self.dtype)
    inplace.copy_(self, value)
    return self


def zero_(self):
    """Overwrites self with zeros; returns self."""
    return fill_(self, 0)


# The names that flow_core takes over, and those that tensors have as methods.
__all__ = """full zeros ones empty empty_strided empty_permuted eye arange scalar_tensor full_like zeros_like ones_like empty_like
fill""".split()
METHODS = {
    **{name: globals()[name] for name in "new_zeros new_ones new_empty new_full new_empty_strided fill_ zero_".split()},
    "new_tensor": new_tensor_of,
}
