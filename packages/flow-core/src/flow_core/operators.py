"""Python operators and tensor methods in terms of ops, attached to every tensor-like class: Tensor here, others by their owners."""

import numpy as np

from flow_core.functions import (
    algebra,
    arithmetic,
    complex,
    copies,
    draws,
    facts,
    indexing,
    layouts,
    overwriting,
    pointwise,
    reduction,
    renaming,
    running,
    statistics,
)
from flow_core.functions import creation as creation_functions
from flow_core.functions import shapes as shapes_functions
from flow_core.functions.door import guard
from flow_core.op import CACHE_SIZE, Op, interceptor, recorder
from flow_core.ops import binary, creation, elementwise, linalg, nn, reduce, unary
from flow_core.ops import shape as shapes
from flow_core.tensor import Tensor

new = object.__new__


def operators(op, reflected):
    """The forward and reflected methods of a binary operator; an operand that is no number or tensor is left to its own class."""

    def forward(self, other):
        return op(self, other)

    def backward(self, other):
        return op(other, self)

    return {f"__{reflected}__": forward, f"__r{reflected}__": backward}


def sizes_method(function):
    """A method that takes sizes, or dims, one by one or as one sequence."""

    def method(self, *sizes):
        return function(self, creation.sizes(sizes))

    method.__doc__ = function.__doc__
    return method


def reshape(self, shape):
    """The elements in row-major order under another shape; one size may be -1."""
    return shapes.reshape(self, shape=shape)


VIEWS = {}  # (spec, sizes as written) -> (spec of the view, reshape's attributes): what view has met before


def view(self, *sizes, dtype=None):
    """A view of the elements in row-major order under another shape, given as sizes or as one sequence; one may be -1.

    Given a dtype instead, the memory read as elements of that.

    ValueError where the memory does not allow a view; reshape copies there.
    """
    # Spelled out, since a view costs little more than the names and calls on the way to it.
    known = VIEWS.get((self.spec, sizes)) if sizes and type(self) is Tensor and type(sizes[0]) is int else None
    if known is None or interceptor.call is not None:
        return unknown_view(self, sizes, dtype)
    out = new(Tensor)
    out.spec, attrs = known
    try:
        out.data = self.data.reshape(out.spec.shape, copy=False)
    except ValueError:
        return unknown_view(self, sizes, dtype)
    out.requires_grad = False
    out.grad_fn = None
    if self.requires_grad and recorder.call is not None:
        recorder.call(shapes.reshape, (self,), attrs, out)
    return out


def unknown_view(self, sizes, dtype):
    """view the long way; remembers it."""
    if (
        dtype is None
        and len(sizes) == 1
        and not isinstance(sizes[0], (tuple, list))
        and not hasattr(sizes[0], "__index__")
    ):
        (dtype,), sizes = sizes, ()
    if dtype is not None:
        return renaming.viewed_as(self, dtype)
    shape = creation.sizes(sizes)
    out = shapes.reshape(self, shape=shape)
    if type(self) is Tensor:
        if self.spec.size and not np.may_share_memory(self.data, out.data):
            raise ValueError(
                f"view: the elements of {self.spec} do not lie in memory as a view of shape {out.shape} needs; use reshape, which copies"
            )
        if all(type(n) is int for n in sizes):
            if len(VIEWS) >= CACHE_SIZE:
                VIEWS.clear()
            VIEWS[self.spec, sizes] = out.spec, {"shape": out.shape}
    return out


def permute(self, dims):
    """The dims in another order."""
    return shapes.permute(self, dims=dims)


def expand(self, shape):
    """Dims of size 1, and new leading ones, repeated to `shape`; -1 keeps a size."""
    return shapes.expand(self, shape=shape)


def contiguous(self):
    """The tensor with its elements in row-major order in memory; itself if they are."""
    return self if self.is_contiguous() else renaming.clone(self)


def turned(self):
    """The dims in the opposite order: of a matrix, its transpose."""
    if self.ndim == 2:
        return shapes.transpose(self, dim0=0, dim1=1)
    return shapes.permute(self, dims=tuple(range(self.ndim))[::-1]) if self.ndim else self


def transposed(self):
    """The matrix transposed; of a tensor of more dims, the last two exchanged."""
    return shapes.transpose(self, dim0=-2, dim1=-1)


def no_operand(other):
    """True for what everything can be compared with and nothing equals: `x == None` is False, as for any object."""
    return other is None or isinstance(other, str)


def iterate(self):
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(shapes.unbind(self))


METHODS = {
    **operators(elementwise.add, "add"),
    **operators(elementwise.sub, "sub"),
    **operators(elementwise.mul, "mul"),
    **operators(elementwise.div, "truediv"),
    **operators(elementwise.pow, "pow"),
    **operators(linalg.matmul, "matmul"),
    **operators(binary.remainder, "mod"),
    **operators(binary.floor_divide, "floordiv"),
    **operators(binary.bitwise_and, "and"),
    **operators(binary.bitwise_or, "or"),
    **operators(binary.bitwise_xor, "xor"),
    **operators(binary.bitwise_left_shift, "lshift"),
    **operators(binary.bitwise_right_shift, "rshift"),
    "__neg__": lambda self: elementwise.neg(self),
    "__abs__": lambda self: elementwise.abs(self),
    "__pos__": renaming.clone,
    "__eq__": lambda self, other: NotImplemented if no_operand(other) else elementwise.eq(self, other),
    "__ne__": lambda self, other: NotImplemented if no_operand(other) else elementwise.ne(self, other),
    "__lt__": lambda self, other: elementwise.lt(self, other),
    "__le__": lambda self, other: elementwise.le(self, other),
    "__gt__": lambda self, other: elementwise.gt(self, other),
    "__ge__": lambda self, other: elementwise.ge(self, other),
    "__hash__": object.__hash__,
    "__iter__": iterate,
    "T": property(turned),
    "mT": property(transposed),
    "reshape": sizes_method(reshape),
    "view": view,
    "permute": sizes_method(permute),
    "expand": sizes_method(expand),
    "contiguous": contiguous,
}
# Ops and functions of ops whose first argument is the tensor: as methods they have their own names.
FUNCTIONS = [
    *[
        elementwise.__dict__[name]
        for name in "add sub mul div pow maximum minimum eq ne lt le gt ge neg abs exp log sqrt rsqrt tanh sigmoid erf".split()
    ],
    *[reduce.__dict__[name] for name in "sum mean amax amin argmax any all".split()],
    *[shapes.__dict__[name] for name in "transpose split chunk squeeze unsqueeze flatten unbind".split()],
    *[op for op in binary.__dict__.values() if isinstance(op, Op)],
    *[op for op in unary.__dict__.values() if isinstance(op, Op) and op not in (unary.polygamma, unary.frexp)],
    linalg.matmul,
    nn.softmax,
    nn.log_softmax,
]


MODULES = (
    algebra,
    arithmetic,
    complex,
    copies,
    creation_functions,
    draws,
    facts,
    indexing,
    layouts,
    overwriting,
    pointwise,
    reduction,
    renaming,
    running,
    shapes_functions,
    statistics,
)


def attach(cls):
    """Gives `cls` the operators and methods."""
    for module in MODULES:
        for name, method in {**module.METHODS, **guard(module.METHODS)}.items():
            setattr(cls, name, method)
    for name, method in METHODS.items():
        setattr(cls, name, method)
    for function in FUNCTIONS:
        setattr(cls, function.name if isinstance(function, Op) else function.__name__, function)


attach(Tensor)
for name, method in {**layouts.MEMORY, **renaming.MEMORY}.items():
    setattr(Tensor, name, method)
