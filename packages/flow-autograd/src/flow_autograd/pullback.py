"""A function's value and the way back from it: what functional transforms, and second derivatives of fused ops, are made of."""

from flow_autograd.backward import grad
from flow_autograd.mode import enable_grad, is_grad_enabled
from flow_autograd.node import Node, Part


def pullback(function, *args):
    """(leaves, out, pull): what stands for the args in the graph, function(*args) of them, and the function from a gradient of out to the
    tuple of gradients of args.

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
        return gradients(used, leaves, again)

    return leaves, out, pull


def gradients(used, leaves, create_graph):
    """The gradients of the leaves from pairs of an output and its gradient; None for what is no leaf or not reached."""
    inputs = [x for x in leaves if getattr(x, "requires_grad", False)]
    if not used or not inputs:
        return tuple([None] * len(leaves))
    outs, gs = zip(*used, strict=True)
    found = grad(list(outs), inputs, list(gs), create_graph=create_graph, retain_graph=True, allow_unused=True)
    found = iter(found)
    return tuple([next(found) if getattr(x, "requires_grad", False) else None for x in leaves])


def branch(x, again):
    """A place of its own in the graph for an argument: a leaf, or a copy that hangs on x."""
    if not hasattr(x, "spec") or x.dtype.kind in "biu":
        return x
    if again and x.requires_grad:
        return x.clone()
    # A batch under vmap goes on as it is: what its examples came from is another level's affair.
    return (x.same() if hasattr(x, "same") else x.detach()).requires_grad_()


def settled(result, leaves):
    """A result without its graph if that leads to none but `leaves`, which no one else has; it is then a value like any other."""
    if isinstance(result, tuple):
        return tuple([settled(r, leaves) for r in result])
    if not getattr(result, "requires_grad", False):
        return result
    own, stack = set(leaves), [result.grad_fn or result]
    seen = set(stack)
    while stack:
        place = stack.pop()
        if not isinstance(place, (Node, Part)):
            if place not in own:
                return result
            continue
        for edge in place.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return result.same() if hasattr(result, "same") else result.detach()
