"""Functional transforms: a function's value and its derivative as a function."""

from flow_autograd.backward import grad
from flow_autograd.mode import enable_grad, is_grad_enabled


def vjp(function, *args):
    """(out, pull): function(*args), and the function from a gradient of out to the tuple of gradients of args.

    out is a tensor or a tuple of them, and `pull` takes the like, where None stands for zeros. A non-float argument's gradient, and
    that of one which out does not depend on, is None. The gradients can be differentiated again where calls are recorded.
    """
    again = is_grad_enabled()
    with enable_grad():
        # Differentiation stops at fresh leaves, unless the result is to be differentiated again through args themselves.
        leaves = [branch(x, again) for x in args]
        out = function(*leaves)

    def pull(g):
        outs, gs = (out, g) if isinstance(out, tuple) else ((out,), (g,))
        used = [(o, c) for o, c in zip(outs, gs, strict=True) if c is not None and o.requires_grad]
        inputs = [x for x in leaves if getattr(x, "requires_grad", False)]
        if not used or not inputs:
            return tuple([None] * len(args))
        found = iter(
            grad(
                [o for o, _ in used],
                inputs,
                [c for _, c in used],
                create_graph=again,
                retain_graph=True,
                allow_unused=True,
            )
        )
        return tuple([next(found) if getattr(x, "requires_grad", False) else None for x in leaves])

    return out, pull


def branch(x, again):
    """A place of its own in the graph for an argument: a leaf, or a copy that hangs on x."""
    if not hasattr(x, "spec") or x.dtype.kind in "biu":
        return x
    if again and x.requires_grad:
        return x.clone()
    return x.detach().requires_grad_()
