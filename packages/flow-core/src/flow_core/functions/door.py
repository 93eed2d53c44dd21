"""The door of functions that are made of ops: what is no tensor is refused there by name, before any work."""

import functools
import inspect


def tensors(*names):
    """Decorator: TypeError where one of these arguments, which are the function's first, is not a tensor."""

    def decorate(function):
        parameters = list(inspect.signature(function).parameters)
        assert parameters[: len(names)] == list(names)

        @functools.wraps(function)
        def checked(*args, **kwargs):
            for i, name in enumerate(names):
                a = args[i] if i < len(args) else kwargs.get(name, checked)
                if not hasattr(a, "spec") and a is not checked:  # of one that is missing Python itself complains
                    raise TypeError(f"{function.__name__}: {name} is a {type(a).__name__}, expected a tensor")
            return function(*args, **kwargs)

        return checked

    return decorate
