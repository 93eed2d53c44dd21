"""Op: a name, the inference of its outputs' specs, and kernels by device. Calling one with tensors runs it.

Whatever else is known of an op stands in a table keyed by its name that an upper layer owns: its derivative, its sharding rule, its
cost. A call of plain tensors whose specs it has met before takes a short way to the kernel, all others the long one (`Op.call`).
"""

import inspect
import math
import threading
from types import MethodType
from typing import NamedTuple

import numpy as np

from flow_core.spec import SCALAR_SPECS, ScalarSpec
from flow_core.tensor import Tensor, new_tensor
from flow_core.writes import wrote

new = object.__new__

OPS = {}  # every op by its name

# Signatures that an op remembers. Full, it forgets them all, so that ever-changing shapes cost time and not memory.
CACHE_SIZE = 4096


class Interceptor(threading.local):
    """The slot that autocast, profiler and checks share, for each thread: if `call` is set, `call(run, op, tensors, attrs)` is asked
    instead of `run`."""

    call = None


class Recorder(threading.local):
    """The slot that autograd fills, for each thread: `call(op, tensors, attrs, out)` is told of calls on what requires grad."""

    call = None


interceptor = Interceptor()
recorder = Recorder()


class Checked(NamedTuple):
    """What the infer of an op with attributes returns: the spec, or tuple of specs, of its output; and its attributes in normal form."""

    out: object
    attrs: dict


class Op:
    """An operation on tensors.

    `infer(*specs, **attrs)` returns the output's TensorSpec, a tuple of them, or Checked, and raises the errors that users see. Its
    positional-only parameters are the op's tensors, the keyword-only ones its attributes; its docstring is the op's.
    `kernels[device type](*specs, **attrs)` returns the function from arrays to an array or a tuple of arrays.
    `linear` lists the arguments, by index, in which the op is linear, others held; `numbers` those that may be Python numbers;
    `nones` those that may be None, beside those with a default (..., in these two, is all). An `elementwise` op broadcasts its arguments
    and makes each element of its result from one of each.
    """

    def __init__(self, name, infer, kernels, linear=(), numbers=(), nones=(), elementwise=False):
        self.name = self.__name__ = name
        self.infer = infer
        self.kernels = kernels
        self.linear = linear
        self.elementwise = elementwise
        self.cache = {}
        self.__doc__ = infer.__doc__
        self.__signature__ = inspect.signature(infer)
        parameters = self.__signature__.parameters.values()
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self.tensor_names = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        self.optional = {p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is None}
        self.numbers = numbers
        self.nones = {*nones, *[i for i, name in enumerate(self.tensor_names) if name in self.optional]}
        self.most_tensors = math.inf if self.variadic else len(self.tensor_names)
        self.attr_names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        # keyword -> function(*args, **attrs): what PyTorch spells as a keyword of this op and is made of several ops.
        self.keywords = {}
        if OPS.setdefault(name, self) is not self:
            raise ValueError(f"op {name!r} is defined already")

    def __repr__(self):
        return f"<op {self.name}{self.__signature__}>"

    def __call__(self, *args, **attrs):
        # One and two plain tensors are most calls: their way is spelled out, since every op pays for each name and call on it.
        if not attrs and interceptor.call is None:
            if len(args) == 2:
                a, b = args
                if type(a) is Tensor and type(b) is Tensor:
                    entry = self.cache.get((a.spec, b.spec))
                    if entry is not None and type(entry[1]) is not tuple:
                        out = new(Tensor)
                        out.data = entry[0](a.data, b.data)
                        out.spec = entry[1]
                        out.requires_grad = False
                        out.grad_fn = None
                        if (a.requires_grad or b.requires_grad) and recorder.call is not None:
                            recorder.call(self, args, entry[2], out)
                        return out
            elif len(args) == 1:
                (a,) = args
                if type(a) is Tensor:
                    entry = self.cache.get((a.spec,))
                    if entry is not None and type(entry[1]) is not tuple:
                        out = new(Tensor)
                        out.data = entry[0](a.data)
                        out.spec = entry[1]
                        out.requires_grad = False
                        out.grad_fn = None
                        if a.requires_grad and recorder.call is not None:
                            recorder.call(self, args, entry[2], out)
                        return out
        return self.call_known(args, attrs)

    def call_known(self, args, attrs):
        """The short way for any number of tensors and Python numbers, and attributes given by name."""
        if len(args) > self.most_tensors or interceptor.call is not None:
            return self.call(args, attrs)
        key, arrays, grad = [], [], False
        for a in args:
            if type(a) is Tensor:
                key.append(a.spec)
                arrays.append(a.data)
                grad = grad or a.requires_grad
            elif type(a) in SCALAR_SPECS:
                key.append(SCALAR_SPECS[type(a)])
                arrays.append(a)
            elif a is None:
                key.append(None)
                arrays.append(None)
            else:
                return self.call(args, attrs)
        for name, value in attrs.items():
            key.append(attribute_key(name, value))
        try:
            entry = self.cache.get(tuple(key))
        except TypeError:  # an attribute is a list, perhaps
            entry = None
        if entry is None:
            return self.call(args, attrs)
        kernel, spec, attrs = entry
        try:
            out = wrap(kernel(*arrays), spec)
        except OverflowError as error:
            raise ValueError(f"{self.name}: {error}") from None
        if grad and recorder.call is not None:
            recorder.call(self, args, attrs, out)
        return out

    def __get__(self, instance, owner=None):
        return self if instance is None else MethodType(self, instance)

    def call(self, args, attrs):
        """The long way: name the arguments, let the owner of an argument of another kind run the op or run it here, and record."""
        if self.keywords:
            if len(args) == self.most_tensors + len(self.attr_names) + 1 and "dtype" in self.keywords:
                args, attrs = args[:-1], {**attrs, "dtype": args[-1]}  # as in softmax(x, dim, dtype)
            for name in attrs:
                if name in self.keywords:
                    return self.keywords[name](*args, **attrs)
        tensors, attrs = self.bind(args, attrs)
        owner = next((a for a in tensors if hasattr(a, "__flow_op__")), None)
        run = type(self).run if owner is None else owner.__flow_op__
        out, attrs = (
            run(self, tensors, attrs) if interceptor.call is None else interceptor.call(run, self, tensors, attrs)
        )
        if recorder.call is not None and any([getattr(a, "requires_grad", False) for a in tensors]):
            recorder.call(self, tensors, attrs, out)
        return out

    def run(self, tensors, attrs):
        """The output on plain tensors (Python scalars and None among them), and the attributes in normal form."""
        specs = tuple([a.spec if type(a) is Tensor else self.spec_of(a) for a in tensors])
        kernel, spec, attrs = self.resolve(specs, attrs)
        try:
            return wrap(kernel(*[a.data if type(a) is Tensor else a for a in tensors]), spec), attrs
        except OverflowError as error:  # of a Python number
            raise ValueError(f"{self.name}: {error}") from None

    def resolve(self, specs, attrs):
        """(kernel, out, attrs) of a signature, from the cache or made new: the kernel bound to specs and attributes, the output's spec
        or specs, and the attributes in normal form. Raises what infer raises."""
        key = specs if not attrs else (*specs, *[attribute_key(name, value) for name, value in attrs.items()])
        try:
            entry = self.cache.get(key)
        except TypeError:
            raise TypeError(f"{self.signature()}: an attribute among {attrs} is no number, string or tuple") from None
        if entry is None:
            self.check(specs)
            checked = self.infer(*specs, **attrs)
            out, normal = checked if type(checked) is Checked else (checked, {})
            entry = self.kernels["cpu"](*specs, **normal), out, normal
            if len(self.cache) >= CACHE_SIZE:
                self.cache.clear()
            self.cache[key] = entry
        return entry

    def check(self, specs):
        """TypeError for a Python number, or None, where infer expects a tensor's spec."""
        for i, spec in enumerate(specs):
            if (type(spec) is ScalarSpec and self.numbers is not ... and i not in self.numbers) or (
                spec is None and i not in self.nones
            ):
                name = f"argument {i}" if self.variadic else self.tensor_names[i]
                raise TypeError(f"{self.signature()}: {name} is {spec and f'a Python {spec}'}, expected a tensor")

    def spec_of(self, a):
        """The spec of an argument that is not a plain tensor: a Python scalar's, or None's, which is None."""
        if a is None:
            return None
        spec = SCALAR_SPECS.get(type(a))
        if spec is None:
            hint = (
                "make it a tensor with flow.tensor(...)"
                if isinstance(a, (np.ndarray, list, tuple))
                else "expected a tensor or a number"
            )
            raise TypeError(f"{self.name}: an argument is a {type(a).__module__}.{type(a).__qualname__}; {hint}")
        return spec

    def bind(self, args, attrs):
        """(tensors, attributes by name), from the arguments as they were written; TypeError if they fit no signature."""
        if self.variadic:
            if args and isinstance(args[0], (list, tuple)):
                tensors, rest = list(args[0]), args[1:]
            else:
                tensors, rest = list(args), ()
        else:
            names = self.tensor_names
            tensors, rest = list(args[: len(names)]), args[len(names) :]
            for name in names[len(tensors) :]:
                if name not in attrs and name not in self.optional:
                    raise TypeError(f"{self.signature()}: {name} is missing")
                tensors.append(attrs.get(name))
            attrs = {name: value for name, value in attrs.items() if name not in names[len(args) :]}
        if len(rest) > len(self.attr_names):
            raise TypeError(f"{self.signature()}: {len(args)} arguments given")
        named = dict(zip(self.attr_names, rest, strict=False))
        for name, value in attrs.items():
            if name not in self.attr_names or name in named:
                raise TypeError(f"{self.signature()}: {name} is given twice or is none of its arguments")
            named[name] = value
        named = {name: as_hashable(value) for name, value in named.items()}
        return [a.item() if isinstance(a, np.generic) else a for a in tensors], named

    def signature(self):
        """The op's name and parameters, as error messages show them."""
        return self.name + str(self.__signature__).replace(", /", "").replace("(*, ", "(").replace("*, ", "")


class InPlaceOp(Op):
    """An op that writes to its first tensors (`num_written(specs)` of them, all by default) and returns nothing.

    Writes are counted, so that a backward pass that saved the old value can refuse.
    """

    def __init__(self, name, infer, kernels, num_written=len, numbers=()):
        super().__init__(name, infer, kernels, numbers=numbers)
        self.num_written = num_written

    def __call__(self, *args, **attrs):
        if recorder.call is not None and any([getattr(a, "requires_grad", False) for a in args]):
            raise ValueError(
                f"{self.name}: it would overwrite a tensor that requires grad; call it under no_grad(), or on x.detach()"
            )
        self.call(args, attrs)

    def run(self, tensors, attrs):
        """Writes to plain tensors."""
        out = super().run(tensors, attrs)
        for t in tensors[: self.num_written(tensors)]:
            wrote(t.data)
        return out


def wrap(arrays, spec):
    """Tensors around a kernel's results: one for a spec, a tuple for a tuple of specs."""
    if type(spec) is tuple:
        return tuple([new_tensor(array, s) for array, s in zip(arrays, spec, strict=True)])
    return new_tensor(arrays, spec)


def attribute_key(name, value):
    """An attribute in a key. 1, 1.0 and True are equal, and so are 0.0 and -0.0: types, or the sign, tell them apart."""
    kind = type(value)
    if kind is tuple:
        return name, tuple([attribute_key("", v) for v in value])
    return (name, value, kind) if kind is not float or value else (name, str(value))


def as_hashable(value):
    """An attribute as it can stand in a key: lists become tuples, numpy numbers Python's."""
    if isinstance(value, (list, tuple)):
        return tuple([as_hashable(v) for v in value])
    return value.item() if isinstance(value, np.generic) else value


def define(kernel, linear=(), numbers=(), nones=(), elementwise=False):
    """Decorator that makes an Op of the infer function it stands on, with `kernel` for the CPU; the op takes the function's name."""

    def decorate(infer):
        return Op(infer.__name__.removesuffix("_op"), infer, {"cpu": kernel}, linear, numbers, nones, elementwise)

    return decorate
