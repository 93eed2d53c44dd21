"""The table of derivatives: for each op, how a gradient of its output becomes gradients of its arguments (vector-Jacobian products).

    defvjp(flow.mul, lambda g, _out, _x, y: unbroadcast(g * y, _x), lambda g, _out, x, _y: unbroadcast(g * x, _y))

A rule takes the gradient of the output, the output, the op's arguments and its attributes by name. A parameter whose name begins with
an underscore receives the tensor's spec only, so the graph need not keep that tensor. Rules are written in ops: they can be
differentiated again, and run on whatever kind of tensor the op ran on.
"""

import inspect
from typing import NamedTuple

import flow_core as flow
from flow_core.op import OPS

VJPS = {}  # op name -> Rule
NO_VJP = {}  # op name -> why it has no derivative


class Rule(NamedTuple):
    """An op's derivative: one function an argument (None for one without a gradient), or one function `joint` for all of them.

    `keeps[i]` says whether the graph keeps argument i, or only its spec; beyond the end, the last entry counts. `skips(attrs)`, if
    there is one, says which calls have no derivative.
    """

    name: str
    functions: tuple
    joint: object
    keeps: tuple
    keeps_out: bool
    skips: object = None


def defvjp(op, *functions, skips=None):
    """Defines the derivative of `op`: a function f(g, out, *args, **attrs) for each argument, or None.

    Calls whose attributes `skips(attrs)` accepts have no derivative and are not recorded.
    """
    kept = [names_kept(f, op) for f in functions if f is not None]
    keeps = tuple(any(k[i + 2] for k in kept) for i in range(max(map(len, kept)) - 2))
    add_rule(op, Rule(op.name, functions, None, keeps, any(k[1] for k in kept), skips))


def defvjp_joint(op, function):
    """Defines the derivative of `op` by one f(g, out, *args, **attrs) that returns the gradients of all arguments, None among them.

    For an op of several outputs, g and out are tuples; g has None for an output that was not used.
    """
    kept = names_kept(function, op)
    add_rule(op, Rule(op.name, (), function, tuple(kept[2:]), kept[1]))


def no_vjp(reason, *ops):
    """States that the ops have no derivative, and why: calls of them are not recorded, and their outputs require no grad."""
    for op in ops:
        NO_VJP[op.name] = reason


def add_rule(op, rule):
    if OPS.get(op.name) is not op:
        raise ValueError(f"{op!r} is not an op of flow_core")
    VJPS[op.name] = rule


def names_kept(function, op):
    """For each parameter of a rule that is not an attribute of the op, whether it wants the tensor itself."""
    parameters = inspect.signature(function).parameters.values()
    return [
        not p.name.startswith("_") for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in op.attr_names
    ]


def unbroadcast(g, spec):
    """g summed over the dims that broadcasting gave it, and cast back, so that it is like the argument of `spec`."""
    if g.spec is spec:
        return g
    if g.shape != spec.shape:
        lead = g.ndim - spec.ndim
        dims = [*range(lead), *[lead + d for d, n in enumerate(spec.shape) if n == 1 and g.shape[lead + d] != 1]]
        g = flow.sum(g, dim=tuple(dims), keepdim=True)
        if g.shape != spec.shape:
            g = flow.reshape(g, shape=spec.shape)
    return g if g.dtype is spec.dtype else flow.cast(g, dtype=spec.dtype)
