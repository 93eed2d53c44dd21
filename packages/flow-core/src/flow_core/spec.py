"""TensorSpec: a tensor's shape, dtype and device without its data; and the arithmetic of shapes and dims that every op's infer uses."""

import threading
import weakref

from flow_core.device import CPU, Device
from flow_core.dtype import SCALAR_CATEGORIES, category, promote, short_name

INTERNED = weakref.WeakValueDictionary()
INTERNED_LOCK = threading.Lock()


class TensorSpec:
    """Shape (a tuple of ints), dtype and device. Equal specs are one object, so a dictionary of specs compares addresses."""

    __slots__ = ("__weakref__", "device", "dtype", "shape")

    def __new__(cls, shape, dtype, device: Device = CPU):
        key = (tuple(shape), dtype, device)
        with INTERNED_LOCK:
            spec = INTERNED.get(key)
            if spec is None:
                spec = object.__new__(cls)
                spec.shape, spec.dtype, spec.device = key
                INTERNED[key] = spec
        return spec

    @property
    def ndim(self):
        """The number of dims."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        return num_elements(self.shape)

    def with_shape(self, shape):
        """The spec of this dtype and device with another shape."""
        return TensorSpec(shape, self.dtype, self.device)

    def with_dtype(self, dtype):
        """The spec of this shape and device with another dtype."""
        return TensorSpec(self.shape, dtype, self.device)

    def __repr__(self):
        return f"{short_name(self.dtype)}[{', '.join(map(str, self.shape))}]"

    def __reduce__(self):
        return TensorSpec, (self.shape, self.dtype, self.device)


class ScalarSpec:
    """A Python number among an op's arguments: of no dims, and weak in promotion. `dtype` is its Python type."""

    __slots__ = ("dtype",)
    shape = ()
    ndim = 0
    size = 1

    def __init__(self, type):
        self.dtype = type

    def __repr__(self):
        return self.dtype.__name__


SCALAR_SPECS = {type: ScalarSpec(type) for type in SCALAR_CATEGORIES}


def result_dtype(specs):
    """The dtype in which an op computes whose arguments promote.

    As PyTorch's result_type: tensors with dims, tensors without and Python numbers promote each among themselves, and each of the latter
    two changes the result only where it is of a higher category (a 0-d float64 leaves a float32 vector in float32).
    """
    dtype = None
    for tier in (with_dims, without_dims, is_number):
        here = None
        for spec in specs:
            if tier(spec):
                here = spec.dtype if here is None else promote(here, spec.dtype)
        if here is not None and (dtype is None or category(here) > category(dtype)):
            widens = dtype is not None and category(here) == 3 and category(dtype) == 2  # a float keeps its width
            dtype = here if dtype is None else promote(dtype, complex if widens else here)
    return promote(dtype, dtype)


def with_dims(spec):
    return type(spec) is not ScalarSpec and bool(spec.shape)


def without_dims(spec):
    return type(spec) is not ScalarSpec and not spec.shape


def is_number(spec):
    return type(spec) is ScalarSpec


def num_elements(shape):
    """The product of the sizes in `shape`."""
    size = 1
    for n in shape:
        size *= n
    return size


def broadcast_shapes(name, *shapes):
    """The shape that `shapes` broadcast to, aligned from the right; ValueError that names the op if there is none."""
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    out = []
    for dim, sizes in enumerate(zip(*padded, strict=True)):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            given = " and ".join(str(shape) for shape in shapes)
            raise ValueError(f"{name}: shapes {given} do not broadcast: sizes {sorted(wide)} meet in dim {dim - ndim}")
        out.append(wide.pop() if wide else 1)
    return tuple(out)


def as_dim(name, dim, ndim):
    """`dim` counted from the front, 0 <= dim < ndim; a negative one counts from the end. A 0-d tensor takes 0 and -1."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}: dim is {dim!r}, expected an int")
    dim = dim.__index__()
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise ValueError(
            f"{name}: dim {dim} is out of range for a tensor of {ndim} dims, expected {-span} to {span - 1}"
        )
    return dim % span


def as_dims(name, dim, ndim):
    """The sorted tuple of dims that `dim` (an int, a sequence of ints, or None for all) names; ValueError if one is named twice."""
    if dim is None:
        return tuple(range(ndim))
    given = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    dims = tuple(sorted(as_dim(name, d, ndim) for d in given))
    if len(set(dims)) != len(dims):
        raise ValueError(f"{name}: dim {given} names a dim twice in a tensor of {ndim} dims")
    return dims if ndim else ()


def as_count(name, argument, number):
    """The attribute `argument` as an int >= 0."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{name}: {argument} is {number!r}, expected an int")
    if number < 0:
        raise ValueError(f"{name}: {argument} is {number}, expected 0 or more")
    return number.__index__()


def as_float(name, argument, number):
    """The attribute `argument` as a float."""
    if type(number) not in (int, float):
        raise TypeError(f"{name}: {argument} is {number!r}, expected an int or a float")
    return float(number)


def as_shape(name, shape):
    """`shape` (an int or a sequence of ints) as a tuple of ints >= 0."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for n in sizes:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{name}: size {n!r} in shape {shape} is not an int")
        if n < 0:
            raise ValueError(f"{name}: size {n} in shape {shape} is negative")
    return tuple(n.__index__() for n in sizes)
