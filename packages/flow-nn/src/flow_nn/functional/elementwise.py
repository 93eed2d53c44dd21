"""The door of the activations: kinds of numbers that they take, 16-bit floats in float32, `inplace=`, and the forms `name_`."""

import functools
import inspect

import flow_core as flow
from flow_core.dtype import CATEGORIES
from flow_core.functions.overwriting import overwrite, refuse_recorded
from flow_nn.functional.geometry import as_type, widened

INT, FLOAT, COMPLEX = 1, 2, 3
NAMES = {0: "bools", INT: "integers", FLOAT: "floats", COMPLEX: "complex numbers"}


def activation(*kinds):
    """Decorator of a function whose first argument is a tensor `input` that holds numbers of these kinds; TypeError for others.

    16-bit floats reach the function in float32 and are rounded once, at its end. An argument `inplace` of the function's is seen to
    here: with it the result is written into the input, which is returned; refused where the call is recorded for a gradient.
    """

    def decorate(function):
        name = function.__name__
        places = list(inspect.signature(function).parameters)
        inplace_at = places.index("inplace") if "inplace" in places else len(places)

        @functools.wraps(function)
        def call(input, *args, **kwargs):
            require_kinds(name, input, kinds)
            inplace = args[inplace_at - 1] if len(args) >= inplace_at else kwargs.get("inplace", False)
            if inplace:
                refuse_recorded(name, (input,))
            y = function(widened(input), *args, **kwargs)
            if CATEGORIES[y.dtype] == CATEGORIES[input.dtype]:
                y = as_type(y, input.dtype)
            return overwrite(name, input, y) if inplace else y

        return call

    return decorate


def require_kinds(name, x, kinds):
    """TypeError unless x is a tensor that holds numbers of one of the kinds."""
    require_tensor(name, "input", x)
    if CATEGORIES[x.dtype] not in kinds:
        raise TypeError(
            f"{name}: {x.spec} holds {NAMES[CATEGORIES[x.dtype]]}, expected {' or '.join(NAMES[k] for k in kinds)}"
        )


def require_tensor(name, argument, x):
    """TypeError unless x is a tensor."""
    if not hasattr(x, "spec"):
        raise TypeError(f"{name}: {argument} is a {type(x).__name__}, expected a tensor")


def in_place(function):
    """The function under the name with an underscore, which takes no `inplace` and always writes."""

    def method(input, *args, **kwargs):
        return function(input, *args, **kwargs, inplace=True)

    method.__name__ = method.__qualname__ = f"{function.__name__}_"
    method.__doc__ = f"As {function.__name__}, written into the input, which is returned."
    return method


def number(name, argument, value):
    """`value` as a Python number; TypeError if it is none."""
    if hasattr(value, "spec") and value.shape == ():
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{name}: {argument} is {value!r}, expected a number")
    return value


def as_number_of(dtype, value):
    """`value` as a number of that dtype: of integers without its fraction, as PyTorch casts the scalars of an activation."""
    return int(value) if CATEGORIES[dtype] == INT else value


def outside(x, low, high, below, above):
    """x between low and high, bounds excluded; `below` where x <= low, `above` where x >= high; NaN stays NaN."""
    return flow.where(x <= low, below, flow.where(x >= high, above, x))


__all__ = []
