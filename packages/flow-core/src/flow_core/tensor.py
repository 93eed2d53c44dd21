"""Tensor: an array on a device. Its operators and methods are ops, attached by flow_core.operators.

`requires_grad`, `grad` and `grad_fn` are inert here: flow_autograd gives them their meaning.
"""

import copy as copying

import numpy as np

from flow_core import dlpack
from flow_core.device import as_device
from flow_core.dtype import CATEGORIES, SCALAR_DEFAULTS, as_dtype, is_floating
from flow_core.spec import TensorSpec
from flow_core.writes import last_write, num_writes

new = object.__new__


class Tensor:
    """An n-dimensional array of one dtype; make one with flow.tensor, flow.zeros and the like.

    `data` is the array underneath (a numpy array), `spec` its shape, dtype and device. `grad_fn`
    is the node of the graph that it came from, None for a leaf.
    """

    # _grad, _hooks and is_parameter stay unset until someone sets them: an op's result pays only for what it uses.
    __slots__ = ("__weakref__", "_grad", "_hooks", "data", "grad_fn", "is_parameter", "requires_grad", "spec")
    __array_ufunc__ = None  # `array + tensor` is then ours to answer

    def __init__(self):
        raise TypeError("a Tensor is made by flow.tensor(data), flow.from_numpy(array), flow.zeros(shape) and the like")

    @property
    def shape(self):
        """The sizes, a tuple of ints."""
        return self.spec.shape

    @property
    def dtype(self):
        """The type of the elements, as flow.float32."""
        return self.spec.dtype

    @property
    def device(self):
        """Where the data lives."""
        return self.spec.device

    @property
    def ndim(self):
        """The number of dims."""
        return len(self.spec.shape)

    @property
    def version(self):
        """How often the memory that it lies in has been written in place, through whatever tensor."""
        return num_writes(self.data)

    def last_write(self):
        """The time of flow_core.writes.clock at which its memory was written last; 0 for never."""
        return last_write(self.data)

    @property
    def grad(self):
        """The gradient that backward passes have added up here, a tensor, or None."""
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value):
        if value is not None and not hasattr(value, "spec"):
            raise TypeError(f"grad of {self.spec} is set to a {type(value).__name__}: give a tensor or None")
        if value is not None and (value.shape != self.shape or value.dtype != self.dtype):
            raise ValueError(f"grad of {self.spec} is set to {value.spec}: shape and dtype must be the tensor's")
        self._grad = value

    @property
    def is_leaf(self):
        """True if no recorded op produced it."""
        return self.grad_fn is None

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad in place; returns the tensor. TypeError for integers and bools, ValueError for a recorded op's result."""
        if requires_grad and not is_floating(self.dtype):
            raise TypeError(f"a tensor of {self.dtype} cannot require grad: cast it to a float type first")
        if not requires_grad and not self.is_leaf:
            raise ValueError("requires_grad can be taken from leaves only: use x.detach()")
        self.requires_grad = requires_grad
        return self

    def detach(self):
        """A tensor of the same data that requires no grad."""
        return new_tensor(self.data, self.spec)

    def numpy(self):
        """The data as a numpy array that shares memory; ValueError if it requires grad."""
        if self.requires_grad:
            raise ValueError("numpy() of a tensor that requires grad would lose its gradient: call x.detach().numpy()")
        return self.data

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __buffer__(self, flags):
        # Python asks for it from 3.12 on; before, memoryview(x.numpy()) is the way.
        return memoryview(self.numpy())

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule of the memory, shared unless copy is True; BufferError if it requires grad.

        What another library writes there is not counted (flow_core.writes): a backward pass cannot notice it.
        """
        if self.requires_grad:
            raise BufferError(f"__dlpack__: {self.spec} requires grad, which would be lost: export x.detach()")
        return dlpack.exported(self.data, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """The DLPack device that the memory is on: (1, 0), the CPU."""
        return dlpack.CPU

    def to_device(self, device, /, *, stream=None):
        """The tensor on a device: itself, for this version has one. ValueError for any other."""
        as_device(device)
        if stream is not None:
            raise ValueError(f"to_device: stream is {stream!r}, expected None on the CPU")
        return self

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise ValueError(f"deepcopy of {self.spec}, the result of a recorded op: copy x.detach() instead")
        out = memo[id(self)] = restored(self.data.copy(), self.requires_grad)
        if self.grad is not None:
            out.grad = copying.deepcopy(self.grad, memo)
        if hasattr(self, "is_parameter"):
            out.is_parameter = self.is_parameter
        return out

    def __reduce_ex__(self, protocol):
        # As its array and whether it requires grad; the graph behind it does not travel.
        if not self.is_leaf:
            raise ValueError(f"pickle of {self.spec}, the result of a recorded op: pickle x.detach() instead")
        return restored, (self.data, self.requires_grad)

    def item(self):
        """The one element as a Python number; ValueError for any other number of elements."""
        if self.data.size != 1:
            raise ValueError(f"item() of {self.spec}: it needs exactly one element, index first")
        return self.data.item()

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.data.tolist()

    def numel(self):
        """The number of elements."""
        return self.spec.size

    def is_contiguous(self):
        """True if the elements lie in memory in row-major order without gaps."""
        return self.data.flags.c_contiguous

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __complex__(self):
        return complex(self.item())

    def __index__(self):
        if CATEGORIES[self.dtype] > 1:
            raise TypeError(f"a tensor of {self.dtype} is no index")
        return int(self.item())

    def __repr__(self):
        body = np.array2string(self.data, separator=", ", prefix="tensor(", threshold=1000, precision=4)
        plain = self.dtype in SCALAR_DEFAULTS.values()
        notes = [] if plain else [f"dtype={self.dtype}"]
        if not self.spec.size:
            notes.insert(0, f"shape={self.shape}")
        if self.requires_grad:
            notes.append("requires_grad=True" if self.is_leaf else f"grad_fn={self.grad_fn}")
        return f"tensor({', '.join([body, *notes])})"


def new_tensor(array, spec):
    """A Tensor around `array`, whose spec the caller vouches for; requires no grad."""
    t = new(Tensor)
    t.data = array
    t.spec = spec
    t.requires_grad = False
    t.grad_fn = None
    return t


def restored(array, requires_grad):
    """The tensor that a pickle or a deep copy holds."""
    return from_numpy(array).requires_grad_(requires_grad)


def from_numpy(array):
    """A tensor that shares the memory of a numpy array; TypeError for another object, ValueError for a dtype that tensors lack."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy takes a numpy array, not {type(array).__name__}: see flow.tensor")
    dtype = as_dtype(array.dtype)
    if array.dtype is not dtype:  # another byte order, or a dtype object of its own
        array = array.view(dtype) if array.dtype == dtype else array.astype(dtype)
    return new_tensor(array, TensorSpec(array.shape, dtype))


def tensor(data, *, dtype=None, device=None, requires_grad=False):
    """A tensor of a copy of `data`: a number, nested sequences, an array or a tensor.

    Without `dtype`, arrays keep theirs, and Python floats give float32, ints int64, bools bool, complex numbers complex64.
    ValueError for ragged sequences or data that is not numbers.
    """
    as_device(device)
    if isinstance(data, Tensor):
        data = data.data
    keeps = isinstance(data, (np.ndarray, np.generic))
    try:
        array = np.array(data)
    except ValueError:
        raise ValueError(
            "tensor: the sequences are of unequal lengths; all rows of a dim must be equally long"
        ) from None
    if dtype is None and not keeps:
        dtype = {"f": "float32", "c": "complex64"}.get(array.dtype.kind)
    if array.dtype.kind in "OUSMmV" and array.dtype.name != "bfloat16":
        raise ValueError(f"tensor: data of type {type(data).__name__} holds {array.dtype}, not numbers")
    array = array.astype(as_dtype(dtype if dtype is not None else array.dtype), copy=False)
    return from_numpy(array).requires_grad_(requires_grad)
