"""Writing in place: what may be written, and the methods `name_` made of functions."""

from flow_core.dtype import CATEGORIES
from flow_core.op import recorder
from flow_core.ops import elementwise, inplace
from flow_core.ops.creation import full
from flow_core.tensor import tensor


def refuse_recorded(name, *args):
    """ValueError if the call is being recorded and one of its arguments requires grad."""
    if recorder.call is not None and any([getattr(a, "requires_grad", False) for a in args]):
        raise ValueError(
            f"{name}: it would overwrite a tensor that requires grad, or write one; call it under no_grad(), or on x.detach()"
        )


def as_value(name, value, x):
    """A value to be written into x, as a tensor of x's dtype."""
    if isinstance(value, (bool, int, float, complex)) and not hasattr(x, "__flow_op__"):
        return full((), value, dtype=x.dtype)
    if isinstance(value, (bool, int, float)):
        return value
    if not hasattr(value, "spec"):
        value = tensor(value)
    if CATEGORIES[value.dtype] == 3 and CATEGORIES[x.dtype] < 3:
        raise TypeError(f"{name}: complex values {value.spec} cannot be stored in {x.spec}; take the real part first")
    return value if value.dtype is x.dtype else elementwise.cast(value, dtype=x.dtype)


def in_place(name, function):
    """The method `name`_ that overwrites its tensor with what `function` makes of it, and returns the tensor."""

    def method(x, *args, **kwargs):
        refuse_recorded(method.__name__, x, *args, *kwargs.values())
        out = function(x, *args, **kwargs)
        if out.shape != x.shape or out.dtype is not x.dtype:
            raise ValueError(f"{method.__name__}: the result is {out.spec}, which does not fit in {x.spec}")
        inplace.copy_(x, out)
        return x

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = (
        f"As {name}, written into the tensor, which is returned. ValueError under recording if one requires grad."
    )
    return method
