"""The copying forms of functions that return views: NAME_copy(...) is NAME(...) in memory of its own, through which gradients flow."""

from flow_core.functions import layouts, shapes
from flow_core.ops import complex, elementwise
from flow_core.ops import shape as dims
from flow_core.ops.creation import sizes


def copying(name, view):
    """NAME_copy of a function that returns a view, or a tuple of them."""

    def function(x, *args, **kwargs):
        out = view(x, *args, **kwargs)
        if isinstance(out, tuple):
            return tuple([elementwise.cast(part, dtype=part.dtype) for part in out])
        return elementwise.cast(out, dtype=out.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As {name.removesuffix('_copy')}, in memory of its own."
    return function


def alias(x):
    return x


def detach(x):
    return x.detach()


def view(x, size):
    return dims.reshape(x, shape=sizes((size,)))


def expand(x, size, *, implicit=False):
    return dims.expand(x, shape=tuple(size))


def permute(x, dims_):
    return dims.permute(x, dims=tuple(dims_))


def transpose(x, dim0, dim1):
    return dims.transpose(x, dim0=dim0, dim1=dim1)


def slice_along(x, dim=0, start=None, end=None, step=1):
    if not x.ndim:
        raise ValueError("slice_copy: a 0-d tensor has no dim to take a part of")
    if step < 1:
        raise ValueError(f"slice_copy: step is {step}, expected 1 or more")
    return shapes.along(x, dims.as_dim("slice_copy", dim, x.ndim), slice(start, end, step))


VIEWS = {
    "alias": alias,
    "detach": detach,
    "view": view,
    "expand": expand,
    "permute": lambda x, dims: permute(x, dims),
    "transpose": transpose,
    "t": shapes.t,
    "squeeze": dims.squeeze,
    "unsqueeze": dims.unsqueeze,
    "select": shapes.select,
    "slice": slice_along,
    "narrow": shapes.narrow,
    "split": dims.split,
    "split_with_sizes": shapes.split_with_sizes,
    "unbind": dims.unbind,
    "unfold": layouts.unfold,
    "diagonal": layouts.diagonal,
    "as_strided": layouts.as_strided,
    "view_as_real": lambda x: complex.view_as_real(x),
    "view_as_complex": lambda x: complex.view_as_complex(x),
}
COPIES = {f"{name}_copy": copying(f"{name}_copy", view) for name, view in VIEWS.items()}
UNSAFE = {"unsafe_split": dims.split, "unsafe_chunk": dims.chunk, "unsafe_split_with_sizes": shapes.split_with_sizes}
globals().update(COPIES, **UNSAFE)

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = [*COPIES, *UNSAFE]
METHODS = {"narrow_copy": COPIES["narrow_copy"], **UNSAFE}
