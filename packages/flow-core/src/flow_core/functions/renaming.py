"""Methods that change a tensor in place: its elements, or the dims under which it shows them."""

from flow_core.dtype import as_dtype
from flow_core.functions import creation, layouts, shapes
from flow_core.functions.overwriting import overwriting
from flow_core.ops import elementwise
from flow_core.ops import shape as dims
from flow_core.spec import TensorSpec
from flow_core.tensor import Tensor, new_tensor


def renaming(name, view):
    """The method that lets a tensor show its memory as a view of it would; ValueError for one that requires grad."""

    def method(self, *args, **kwargs):
        if type(self) is not Tensor or self.requires_grad:
            raise ValueError(f"{name}: it takes plain tensors that require no grad: call it on x.detach()")
        seen = view(self, *args, **kwargs)
        self.data, self.spec = seen.data, seen.spec
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Gives the tensor the dims of its {name.removesuffix('_')}, in place; returns it."
    return method


def fill_diagonal_(self, fill_value, wrap=False):
    """Overwrites the main diagonal (i, i, ...) with a number; with `wrap`, again below each square of a tall matrix. Returns self.

    ValueError below 2 dims, and for more than 2 dims that are not of one size.
    """
    if self.ndim < 2:
        raise ValueError(f"fill_diagonal_: {self.spec} must have 2 dims at least")
    if self.ndim > 2 and len({*self.shape}) > 1:
        raise ValueError(f"fill_diagonal_: the dims of {self.spec} must be of one size")
    if self.ndim > 2:
        view = self.detach()
        while view.ndim > 2:
            view = layouts.diagonal(view, 0, 0, 1).permute(view.ndim - 2, *range(view.ndim - 2))
        parts = [layouts.diagonal(view)]
    else:
        rows, columns = self.shape
        starts = range(0, rows, columns + 1) if wrap and columns else (0,)
        parts = [layouts.diagonal(shapes.narrow(self, 0, start, rows - start)) for start in starts]
    if self.requires_grad:
        return creation.fill_(self, fill_value)  # which says why it is refused
    for part in parts:
        creation.fill_(part, fill_value)
    return self


def viewed_as(self, dtype):
    """The memory of a plain tensor read as another dtype, whose size must divide the last dim's bytes. A view without gradients."""
    dtype = as_dtype(dtype)
    if self.requires_grad and dtype is not self.dtype:
        raise ValueError(f"view: {self.spec} requires grad, which bytes of {dtype} have not: call x.detach() first")
    if dtype.itemsize != self.dtype.itemsize and not self.ndim:
        raise ValueError(f"view: {self.spec} has no dim whose size could change with the size of {dtype}")
    if self.ndim and self.shape[-1] * self.dtype.itemsize % dtype.itemsize:
        raise ValueError(f"view: the last dim of {self.spec} does not divide into elements of {dtype}")
    if dtype.itemsize != self.dtype.itemsize and self.data.strides[-1] != self.dtype.itemsize:
        raise ValueError(f"view: the last dim of {self.spec} is not contiguous in memory: call x.contiguous() first")
    array = self.data.view(dtype)
    return new_tensor(array, TensorSpec(array.shape, dtype, self.device))


def clone(x, *, memory_format=None):
    """A copy, through which gradients flow."""
    return elementwise.cast(x, dtype=x.dtype)


def detach(x):
    """A tensor of the same memory that requires no grad."""
    return x.detach()


def detach_(self):
    """Takes the tensor off the graph that it came from, in place; returns it."""
    self.grad_fn, self.requires_grad = None, False
    return self


def data_ptr(self):
    """The address of the first element."""
    return self.data.__array_interface__["data"][0]


def cpu(self):
    """The tensor on the CPU, where all are: itself."""
    return self.to("cpu")


def contains(self, element):
    """Whether an element equals `element`, a number or a 0-d tensor."""
    return bool(elementwise.eq(self, element).any())


# The names that flow_core takes over, and those that tensors have as methods.
__all__ = ["clone", "detach"]
METHODS = {
    "tril_": overwriting("tril"),
    "triu_": overwriting("triu"),
    "conj_physical_": overwriting("conj_physical"),
    "squeeze_": renaming("squeeze_", dims.squeeze),
    "unsqueeze_": renaming("unsqueeze_", dims.unsqueeze),
    "t_": renaming("t_", shapes.t),
    "transpose_": renaming("transpose_", lambda x, dim0, dim1: dims.transpose(x, dim0=dim0, dim1=dim1)),
    "swapaxes_": renaming("swapaxes_", lambda x, axis0, axis1: dims.transpose(x, dim0=axis0, dim1=axis1)),
    "swapdims_": renaming("swapdims_", lambda x, dim0, dim1: dims.transpose(x, dim0=dim0, dim1=dim1)),
    "as_strided_": renaming("as_strided_", layouts.as_strided),
    "fill_diagonal_": fill_diagonal_,
    "clone": clone,
    "cpu": cpu,
    "__contains__": contains,
}
# What only a plain tensor has.
MEMORY = {"data_ptr": data_ptr, "detach_": detach_}
