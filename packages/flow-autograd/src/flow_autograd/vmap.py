"""vmap: a function of one example becomes a function of a batch of them, by one rule an op; ops without one run example by example.

Bradbury et al., JAX: composable transformations of Python+NumPy programs, 2018. The batch is dim 0 of a Batched's `value`, which ops on
it do not see.
"""

import threading

import flow_core as flow
from flow_autograd.attach import attach
from flow_autograd.batching import RULES, align
from flow_core.dtype import CATEGORIES
from flow_core.op import InPlaceOp
from flow_core.operators import attach as attach_operators
from flow_core.spec import result_dtype


class Batched:
    """A batch of tensors that looks like one of them. `spec` is one example's, `value` all of them along dim 0, itself a tensor, or a
    Batched of an outer vmap; `level` says which vmap made it."""

    __slots__ = ("__weakref__", "_grad", "_hooks", "grad_fn", "is_parameter", "level", "requires_grad", "spec", "value")
    __array_ufunc__ = None

    def __init__(self, value, level):
        self.value, self.level = value, level
        self.spec = value.spec.with_shape(value.shape[1:])
        self.requires_grad, self.grad_fn = False, None

    def __flow_op__(self, op, tensors, attrs):
        return run(op, tensors, attrs)

    def detach(self):
        """The batch without a graph, at every level."""
        return Batched(self.value.detach(), self.level)

    def same(self):
        """The batch as a new leaf of this level."""
        return Batched(self.value, self.level)

    def __repr__(self):
        return f"<batch of {self.value.shape[0]} {self.spec}>"

    def __bool__(self):
        raise TypeError("vmap: the truth of a batch is one for each example; use flow.where instead of `if`")

    def item(self):
        """TypeError: an example's number is not at hand under vmap."""
        raise TypeError("vmap: item() and numpy() have no one value for a batch; return the tensor instead")

    numpy = tolist = __float__ = __int__ = __index__ = __array__ = item


for name in ("shape", "dtype", "device", "ndim", "grad", "is_leaf", "requires_grad_", "numel", "__len__"):
    setattr(Batched, name, flow.Tensor.__dict__[name])
attach_operators(Batched)
attach(Batched)


def run(op, tensors, attrs):
    """(result, attributes in normal form) of an op among whose arguments are batches."""
    if isinstance(op, InPlaceOp):
        raise TypeError(f"vmap: {op.name} writes in place; use the op that returns its result")
    level = max(t.level for t in tensors if type(t) is Batched)
    batched = [type(t) is Batched and t.level == level for t in tensors]
    values = [t.value if is_batch else t for t, is_batch in zip(tensors, batched, strict=True)]
    specs = tuple([t.spec if hasattr(t, "spec") else op.spec_of(t) for t in tensors])
    _, out, attrs = op.resolve(specs, attrs)
    found = None
    if op.elementwise:
        found = elementwise(op, values, batched, specs, attrs, max(len(s.shape) for s in specs))
    elif op.name in RULES:
        found = RULES[op.name](op, values, batched, specs, attrs, out)
    if found is None:
        found = one_by_one(op, values, batched, attrs)
    if type(out) is tuple:
        return tuple([Batched(f, level) for f in found]), attrs
    return Batched(found, level), attrs


def elementwise(op, values, batched, specs, attrs, ndim):
    """An elementwise op on batches whose examples have up to `ndim` dims."""
    first = 1 if op.name == "where" else 0  # its condition has no part in promotion
    if len({s.dtype for s in specs[first:]}) > 1:
        # Promotion goes by the dims of one example, which a batch of numbers has more of.
        dtype = result_dtype(specs[first:])
        values = values[:first] + [
            flow.cast(v, dtype=dtype) if hasattr(v, "spec") and CATEGORIES[v.dtype] == CATEGORIES[dtype] else v
            for v in values[first:]
        ]
    return op(*[align(v, s, ndim) if b else v for v, s, b in zip(values, specs, batched, strict=True)], **attrs)


def one_by_one(op, values, batched, attrs):
    """The op on each example, stacked."""
    size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
    if not size:
        raise ValueError(f"vmap: {op.name} has no rule for a batch, and runs one by one: it needs one example at least")
    outs = [op(*[v[i] if b else v for v, b in zip(values, batched, strict=True)], **attrs) for i in range(size)]
    if type(outs[0]) is tuple:
        return tuple([flow.stack(parts) for parts in zip(*outs, strict=True)])
    return flow.stack(outs)


class Depth(threading.local):
    """How many vmaps are under way; the number of the innermost is its level."""

    now = 0


depth = Depth()


def vmap(function, in_dims=0, out_dims=0):
    """The function over a new dim: vmap(f)(x)[i] = f(x[i]), computed for all i at once where ops have a rule for it.

    in_dims says which dim of each argument holds the examples (an int for all, or one an argument; None: the argument is the same for
    all examples); out_dims where it goes in each result. Arguments and results may be nested in tuples, lists and dicts. ValueError if
    no argument has examples or their numbers differ. Random ops draw anew for each example.
    """

    def batch(*args):
        dims = in_dims if isinstance(in_dims, (tuple, list)) else [in_dims] * len(args)
        if len(dims) != len(args):
            raise ValueError(f"vmap: {len(args)} arguments and {len(dims)} in_dims given")
        sizes = {}
        for arg, dim in zip(args, dims, strict=True):
            for t in leaves(arg) if dim is not None else ():
                if hasattr(t, "spec"):
                    if not -t.ndim <= dim < t.ndim:
                        raise ValueError(f"vmap: in_dim {dim} is none of the dims of {t.spec}")
                    sizes[t.shape[dim]] = t.spec
        if len(sizes) != 1:
            given = ", ".join(map(str, sizes.values()))
            raise ValueError(
                f"vmap: arguments must agree in the number of examples, given: {given or 'none with examples'}"
            )
        (size,) = sizes
        depth.now += 1
        level = depth.now
        try:
            inner = [
                arg if dim is None else mapped(lambda t, dim=dim: enter(t, dim, level), arg)
                for arg, dim in zip(args, dims, strict=True)
            ]
            out = function(*inner)
        finally:
            depth.now -= 1
        if isinstance(out_dims, (tuple, list)):
            return type(out)(
                mapped(lambda t, dim=dim: leave(t, dim, level, size), o) for o, dim in zip(out, out_dims, strict=True)
            )
        return mapped(lambda t: leave(t, out_dims, level, size), out)

    return batch


def enter(t, dim, level):
    """A tensor with its examples at `dim` as a Batched."""
    return Batched(t if dim % t.ndim == 0 else flow.movedim(t, dim, 0), level) if hasattr(t, "spec") else t


def leave(t, dim, level, size):
    """A Batched of this level as a tensor with the examples at `dim`; what is the same for all examples is repeated."""
    if not hasattr(t, "spec"):
        raise TypeError(f"vmap: the function returned a {type(t).__name__}, expected tensors")
    if type(t) is Batched and t.level == level:
        value = t.value
    else:
        value = t.expand(size, *t.shape)
    return value if dim == 0 else flow.movedim(value, 0, dim)


def mapped(function, tree):
    """The function on each leaf of nested tuples, lists and dicts."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[mapped(function, v) for v in tree])
    if isinstance(tree, (tuple, list)):
        return type(tree)([mapped(function, v) for v in tree])
    if isinstance(tree, dict):
        return {k: mapped(function, v) for k, v in tree.items()}
    return function(tree)


def leaves(tree):
    """The leaves of nested tuples, lists and dicts."""
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return [leaf for v in tree for leaf in leaves(v)] if isinstance(tree, (tuple, list)) else [tree]
