"""Module: parameters, buffers and modules under names, as in PyTorch."""

import numpy as np

import flow_core as flow
from flow_autograd import no_grad


class ParameterMeta(type):
    """Makes isinstance(x, Parameter) ask the tensor, whatever its kind."""

    def __instancecheck__(cls, x):
        return getattr(x, "is_parameter", False)


class Parameter(metaclass=ParameterMeta):
    """Parameter(tensor): a leaf on the tensor's data that a Module registers when it is set as an attribute."""

    def __new__(cls, data, requires_grad=True):
        leaf = data.detach()
        leaf.is_parameter = True
        return leaf.requires_grad_(requires_grad)


class Module:
    """A piece of a model. Subclasses set parameters and modules as attributes in __init__ and define forward."""

    def __init__(self):
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, training=True)

    def forward(self, *args):
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def __setattr__(self, name, value):
        if "_parameters" not in self.__dict__:
            raise TypeError(f"{type(self).__name__}.__init__ must call super().__init__() before it sets {name}")
        for table in (self._parameters, self._buffers, self._modules):
            if name in table and not isinstance(value, (Parameter, Module)):
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
        """Registers a Parameter, or None for one that is absent."""
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
        return iter(self._modules.values())

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

    def state_dict(self):
        """Parameters and buffers by name, as tensors that share their memory and require no grad."""
        state = {}
        for prefix, module in self.named_modules():
            for table in (module._parameters, module._buffers):
                state.update(
                    {(f"{prefix}.{name}" if prefix else name): t.detach() for name, t in table.items() if t is not None}
                )
        return state

    def load_state_dict(self, state):
        """Copies `state` (tensors or numpy arrays by name) into the parameters and buffers.

        ValueError, before anything is written, if names are missing or unknown or a shape differs.
        """
        own = self.state_dict()
        problems = [f"{name} is missing" for name in own if name not in state]
        problems += [f"{name} is unknown" for name in state if name not in own]
        given = {name: flow.from_numpy(t) if isinstance(t, np.ndarray) else t for name, t in state.items()}
        problems += [
            f"{name} is {given[name].spec}, expected {t.spec}"
            for name, t in own.items()
            if name in given and given[name].shape != t.shape
        ]
        if problems:
            more = f", and {len(problems) - 4} more" if len(problems) > 4 else ""
            raise ValueError(f"the state does not fit {type(self).__name__}: {'; '.join(problems[:4])}{more}")
        targets = {}
        for prefix, module in self.named_modules():
            for table in (module._parameters, module._buffers):
                targets.update({(f"{prefix}.{name}" if prefix else name): t for name, t in table.items()})
        with no_grad():
            for name, t in given.items():
                targets[name].copy_(t)

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
        for child in self._modules.values():
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
