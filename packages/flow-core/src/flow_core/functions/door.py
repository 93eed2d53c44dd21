"""The door of functions that are made of ops: an argument that is no tensor is refused there by its name."""

import functools
import inspect
import types

import numpy as np


def guarded(function):
    """The function, with a TypeError in place of the AttributeError of an argument that it took for a tensor, and a ValueError in place
    of an ArithmeticError in Python's own numbers.

    It looks at an argument only when something has failed, so that a right call pays for one more call and no more.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except AttributeError as error:
            name = taken_for_a_tensor(function, args, kwargs, error.obj)
            if name is None:
                raise
            kind = type(error.obj).__name__
            raise TypeError(f"{function.__name__}: {name} is or holds a {kind}, expected a tensor") from None
        except (OverflowError, ZeroDivisionError) as error:
            raise ValueError(f"{function.__name__}: {error}") from None
        except MemoryError as error:
            raise MemoryError(str(error) or f"{function.__name__}: the result does not fit in memory") from None
        except KeyError:
            dtypes = [a for a in args if isinstance(a, np.dtype)]  # which can be indexed, by the names of its fields
            if not dtypes:
                raise
            raise TypeError(f"{function.__name__}: {dtypes[0]} is a dtype, expected a tensor") from None

    return call


def taken_for_a_tensor(function, args, kwargs, thing):
    """The name of the argument that is, or holds, a thing without `spec`; None if there is none."""
    if hasattr(thing, "spec"):
        return None
    given = list(zip([*inspect.signature(function).parameters, *["argument"] * len(args)], args, strict=False))
    for name, value in [*given, *kwargs.items()]:
        if holds(value, thing) or isinstance(value, (str, bytes)):
            return name
    return None


def holds(value, thing):
    """Whether value is the thing, or a sequence that has it in some depth."""
    return value is thing or (isinstance(value, (list, tuple)) and any(holds(v, thing) for v in value))


def guard(names):
    """Guards the functions among the public names of a module or a class, given as a dictionary."""
    return {
        name: guarded(value)
        for name, value in names.items()
        if isinstance(value, types.FunctionType) and not name.startswith("_")
    }
