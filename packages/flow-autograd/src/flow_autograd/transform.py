"""Functional transforms: derivatives of a function as functions, made of reverse passes."""

import numpy as np

import flow_core as flow
from flow_autograd.mode import enable_grad, is_grad_enabled
from flow_autograd.pullback import branch, gradients, pullback, settled
from flow_autograd.vmap import vmap


def vjp(function, *args):
    """(out, pull): function(*args), and the function from a gradient of out to the tuple of gradients of args.

    out is a tensor or a tuple of them, and `pull` takes the like, where None stands for zeros. A non-float argument's gradient, and
    that of one which out does not depend on, is None. The gradients can be differentiated again where calls are recorded.
    """
    leaves, out, pull = pullback(function, *args)
    return settled(out, leaves), lambda g: settled(pull(g), leaves)


def jvp(function, primals, tangents):
    """(out, tangent): function(*primals) and its derivative in the direction of `tangents`, both a tensor or a tuple of them.

    Two reverse passes: pulling g back is linear in g, and its derivative for g is the push forward (Townsend, "A new trick for
    calculating Jacobian vector products", 2017). ValueError if a tangent's shape or dtype is not its primal's.
    """
    primals, tangents = tuple(primals), tuple(tangents)
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals and {len(tangents)} tangents given")
    for x, t in zip(primals, tangents, strict=True):
        if x.shape != t.shape or x.dtype is not t.dtype:
            raise ValueError(f"jvp: the tangent {t.spec} of {x.spec} must have its shape and dtype")
    again = is_grad_enabled()
    with enable_grad():
        leaves = [branch(x, again) for x in primals]
        out = function(*leaves)
        outs = out if isinstance(out, tuple) else (out,)
        seeds = [flow.zeros_like(o).requires_grad_() if o.requires_grad else None for o in outs]
        used = [(o, s) for o, s in zip(outs, seeds, strict=True) if s is not None]
        pulled = gradients(used, leaves, True)
        pairs = [(p, t) for p, t in zip(pulled, tangents, strict=True) if p is not None and p.requires_grad]
        pushed = gradients(pairs, [s for s in seeds if s is not None], again)
    pushed = iter(pushed)
    found = [None if s is None else next(pushed) for s in seeds]
    found = tuple([flow.zeros_like(o) if f is None else f for o, f in zip(outs, found, strict=True)])
    found = settled(found if isinstance(out, tuple) else found[0], (*leaves, *seeds))
    return settled(out, leaves), found


def jacobian(function, inputs):
    """The derivatives of each element of function(*inputs) for each element of the inputs: out.shape + input.shape.

    `inputs` is a tensor or a tuple of them, and the function returns a tensor or a tuple: the Jacobian is nested likewise, the results
    outside. All rows come from one reverse pass over a batch. Zeros where a result does not depend on an input.
    """
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    leaves, out, pull = pullback(function, *args)
    outs = out if isinstance(out, tuple) else (out,)

    def rows(i, o):
        if not o.requires_grad:
            found = (None,) * len(args)
        else:
            basis = flow.from_numpy(np.eye(o.numel(), dtype=o.dtype).reshape(o.numel(), *o.shape))
            seeds = lambda g: tuple([g if j == i else None for j in range(len(outs))])  # noqa: E731
            found = batch_of_pulls(lambda g: pull(seeds(g) if isinstance(out, tuple) else g), basis)
        found = tuple(
            [
                flow.zeros(*o.shape, *x.shape, dtype=x.dtype) if f is None else f.reshape(*o.shape, *x.shape)
                for f, x in zip(found, args, strict=True)
            ]
        )
        return settled(found if isinstance(inputs, tuple) else found[0], leaves)

    found = tuple([rows(i, o) for i, o in enumerate(outs)])
    return found if isinstance(out, tuple) else found[0]


def batch_of_pulls(pull, basis):
    """pull on each row of the basis, stacked; None where it is None for all."""
    missing = []

    def pulled(g):
        found = pull(g)
        missing[:] = [f is None for f in found]
        return tuple([f for f in found if f is not None])

    found = iter(vmap(pulled)(basis) if basis.shape[0] else ())
    return tuple([None if m else next(found) for m in missing]) if missing else (None,)


def hessian(function, inputs):
    """The second derivatives of a function of one number: input.shape + input.shape, nested twice for a tuple of inputs."""
    args = inputs if isinstance(inputs, tuple) else (inputs,)

    def slopes(*xs):
        found = first_derivatives("hessian", function, xs)
        return found if isinstance(inputs, tuple) else found[0]

    with enable_grad():
        return jacobian(slopes, args if isinstance(inputs, tuple) else args[0])


def hvp(function, inputs, v):
    """(out, hessian times v) of a function of one number, from two reverse passes; `v` is like the inputs, a tensor or a tuple."""
    args, vs = (inputs, v) if isinstance(inputs, tuple) else ((inputs,), (v,))
    again = is_grad_enabled()
    with enable_grad():
        leaves = [branch(x, again) for x in args]
        out = function(*leaves)
        require_number("hvp", out)
        slopes = gradients([(out, flow.ones_like(out))] if out.requires_grad else [], leaves, True)
        used = [(s, w) for s, w in zip(slopes, vs, strict=True) if s is not None and s.requires_grad]
        found = gradients(used, leaves, again)
    found = tuple([flow.zeros_like(x) if f is None else f for f, x in zip(found, args, strict=True)])
    return settled(out, leaves), settled(found if isinstance(inputs, tuple) else found[0], leaves)


def first_derivatives(name, function, args):
    """The gradients of a function of one number, zeros where it does not depend on an argument."""
    out, pull = vjp(function, *args)
    require_number(name, out)
    found = pull(flow.ones_like(out))
    return tuple([flow.zeros_like(x) if f is None else f for f, x in zip(found, args, strict=True)])


def require_number(name, out):
    if not hasattr(out, "spec") or out.spec.size != 1:
        raise ValueError(
            f"{name}: the function returned {getattr(out, 'spec', out)!r}, expected a tensor of one element"
        )
