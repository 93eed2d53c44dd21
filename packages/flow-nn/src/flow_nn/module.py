"""Module: parameters, buffers and modules under names, as in PyTorch."""

import numpy as np

import flow_core as flow
from flow_autograd import no_grad
from flow_core.dtype import as_dtype, is_floating
from flow_core.ops.inplace import copy_
from flow_core.writes import wrote


class ParameterMeta(type):
    """Makes isinstance(x, Parameter) ask the tensor, whatever its kind."""

    def __instancecheck__(cls, x):
        return getattr(x, "is_parameter", False)


class Parameter(metaclass=ParameterMeta):
    """A leaf on a tensor's data that a Module registers when it is set as an attribute; of the tensor's own kind."""

    def __new__(cls, data, requires_grad=True):
        leaf = data.detach()
        leaf.is_parameter = True
        return leaf.requires_grad_(requires_grad)


class Module:
    """A piece of a model. Subclasses set parameters and modules as attributes in __init__ and define forward."""

    def __init__(self):
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, _forward_pre_hooks=[], training=True)

    def forward(self, *args):
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def __call__(self, *args, **kwargs):
        for hook in self._forward_pre_hooks:
            args = hook(self, args)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(self, hook):
        """Before each call, replaces the positional arguments by hook(module, args), a tuple."""
        self._forward_pre_hooks.append(hook)

    def __setattr__(self, name, value):
        if "_parameters" not in self.__dict__:
            raise TypeError(f"{type(self).__name__}.__init__ must call super().__init__() before it sets {name}")
        for table, kind in ((self._parameters, "Parameter"), (self._buffers, "tensor"), (self._modules, "Module")):
            if name in table and not isinstance(value, (Parameter, Module)):
                if value is not None and (kind != "tensor" or not hasattr(value, "spec")):
                    raise TypeError(
                        f"{type(self).__name__}.{name} is a {kind}, not {type(value).__name__}: set a {kind} or None"
                    )
                table[name] = value
                return
        table = (
            self._parameters
            if isinstance(value, Parameter)
            else self._modules
            if isinstance(value, Module)
            else self.__dict__
        )
        for other in (self._parameters, self._buffers, self._modules, self.__dict__):
            if other is not table:
                other.pop(name, None)
        table[name] = value

    def __getattr__(self, name):
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(table, ()):
                return self.__dict__[table][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules, self.__dict__):
            if name in table:
                del table[name]
                return
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def register_parameter(self, name, parameter):
        """Registers a Parameter, or None for one that is absent; TypeError for anything else."""
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(
                f"{type(self).__name__}: parameter {name} is {type(parameter).__name__}: wrap it, Parameter(tensor)"
            )
        self._parameters[name] = parameter

    def register_buffer(self, name, tensor):
        """Registers a tensor that belongs to the state and is not trained."""
        self._buffers[name] = tensor

    def add_module(self, name, module):
        """Registers a module under `name`."""
        self._modules[name] = module

    def named_modules(self, prefix=""):
        """Pairs of name and module, this one first, in the order of registration; each module once."""
        seen = set()

        def walk(prefix, module):
            if module is None or id(module) in seen:
                return
            seen.add(id(module))
            yield prefix, module
            for name, child in module._modules.items():
                yield from walk(f"{prefix}.{name}" if prefix else name, child)

        return walk(prefix, self)

    def modules(self):
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def children(self):
        """The modules right below this one."""
        return (module for module in self._modules.values() if module is not None)

    def named_parameters(self):
        """Pairs of name and parameter; a parameter that has several names (a tied one) comes once, under the first."""
        seen = set()
        for prefix, module in self.named_modules():
            for name, p in module._parameters.items():
                if p is not None and id(p) not in seen:
                    seen.add(id(p))
                    yield (f"{prefix}.{name}" if prefix else name), p

    def parameters(self):
        """The parameters, each once."""
        return (p for _, p in self.named_parameters())

    def named_tensors(self, prefix=""):
        """Pairs of name and parameter or buffer; one that has several names comes under each."""
        for table in (self._parameters, self._buffers):
            yield from ((f"{prefix}{name}", t) for name, t in table.items() if t is not None)
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_tensors(f"{prefix}{name}.")

    def state_dict(self):
        """Parameters and buffers by name, as tensors that share their memory and require no grad."""
        return {name: t.detach() for name, t in self.named_tensors()}

    def load_state_dict(self, state):
        """Copies `state` (tensors or numpy arrays by name) into the parameters and buffers.

        ValueError, before anything is written, if names are missing or unknown, or a shape or a kind of number differs.
        """
        own = dict(self.named_tensors())
        given = {name: flow.from_numpy(t) if isinstance(t, np.ndarray) else t for name, t in state.items()}
        problems = [f"{name} is missing" for name in own if name not in given]
        problems += [f"{name} is unknown" for name in given if name not in own]
        problems += [
            f"{name} is {getattr(given[name], 'spec', type(given[name]).__name__)}, expected {t.spec}"
            for name, t in own.items()
            if name in given and not fits(given[name], t)
        ]
        if problems:
            more = f", and {len(problems) - 4} more" if len(problems) > 4 else ""
            raise ValueError(f"the state does not fit {type(self).__name__}: {'; '.join(problems[:4])}{more}")
        with no_grad():
            for name, t in given.items():
                own[name].copy_(t)

    def to(self, dtype):
        """Casts the parameters and buffers of float types, and their gradients, to a float dtype, in place; returns the module.

        An optimizer made before keeps its state in the dtype it had: make it afterwards.
        """
        dtype = as_dtype(dtype)
        if not is_floating(dtype):
            raise TypeError(f"{type(self).__name__}.to: {dtype} is not a float type")
        for t in {id(t): t for _, t in self.named_tensors()}.values():
            if is_floating(t.dtype) and t.dtype is not dtype:
                cast, grad = t.detach().to(dtype), t.grad
                t.grad = None
                t.data, t.spec = cast.data, cast.spec
                wrote(t.data)  # for a backward pass that saved the old value under this tensor
                t.grad = None if grad is None else grad.detach().to(dtype)
        return self

    def train(self, mode=True):
        """Sets training mode here and below; returns the module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """Sets evaluation mode here and below; returns the module."""
        return self.train(False)

    def zero_grad(self):
        """Drops the gradients of all parameters."""
        for p in self.parameters():
            p.grad = None

    def apply(self, function):
        """Calls function(module) on all modules below and then on this one; returns the module."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def extra_repr(self):
        """What stands in the brackets of the module's printed form."""
        return ""

    def __repr__(self):
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self._modules.items()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        return "\n  ".join([f"{type(self).__name__}({self.extra_repr()}", *lines]) + "\n)"


def fits(value, target):
    """Whether `value` is a tensor that can be stored in `target` as it is, but for rounding."""
    if not hasattr(value, "spec") or value.shape != target.shape:
        return False
    try:
        copy_.infer(target.spec, value.spec)
    except TypeError:
        return False
    return True
