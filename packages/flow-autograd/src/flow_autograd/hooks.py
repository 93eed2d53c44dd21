"""Hooks: functions that see a gradient, and may replace it, as the reverse pass comes by a tensor or a node."""

import weakref

from flow_autograd.node import Node


class Hooks:
    """What hangs at one place of the graph: `tensor` and `accumulated` at a tensor's, `before` and `after` at a node's."""

    __slots__ = ("accumulated", "after", "before", "retained", "tensor")

    def __init__(self):
        self.tensor, self.accumulated, self.before, self.after = {}, {}, {}, {}
        self.retained = None  # a weak reference to the tensor whose grad is kept


class Used:
    """Whether a hook was ever hung anywhere: as long as not, the reverse pass does not look for any."""

    ever = False


class Handle:
    """A hook that can be taken away again; as a context manager it is, at the end."""

    def __init__(self, table):
        self.table = table

    def remove(self):
        """Takes the hook away; nothing if it is away already."""
        self.table.pop(self, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def hooks_of(place):
    """The hooks of a place, made if it has none."""
    Used.ever = True
    hooks = getattr(place, "_hooks", None)
    if hooks is None:
        hooks = place._hooks = Hooks()
    return hooks


def hang(place, kind, function):
    """Adds a function to the hooks of a place; they run in the order in which they were added."""
    if not callable(function):
        raise TypeError(f"a hook is a {type(function).__name__}, expected a function")
    table = getattr(hooks_of(place), kind)
    handle = Handle(table)
    table[handle] = function
    return handle


def register_hook(self, hook):
    """`hook(grad)` is called with this tensor's gradient when it is complete; a tensor that it returns replaces it. Returns a handle.

    The tensor's own gradient is replaced, and what flows on from it. ValueError for a tensor that does not require grad.
    """
    require_grad("register_hook", self)
    return hang(self.grad_fn or self, "tensor", hook)


def register_post_accumulate_grad_hook(self, hook):
    """`hook(tensor)` is called after a backward pass has added to this leaf's `.grad`. Returns a handle."""
    require_grad("register_post_accumulate_grad_hook", self)
    if not self.is_leaf:
        raise ValueError(f"register_post_accumulate_grad_hook: {self.spec} is no leaf, nothing is added to its grad")
    return hang(self, "accumulated", hook)


def retain_grad(self):
    """Makes backward passes add to `.grad` of this tensor too, which is no leaf; a leaf's they do anyway."""
    require_grad("retain_grad", self)
    if not self.is_leaf:
        hooks_of(self.grad_fn).retained = weakref.ref(self)


def require_grad(name, tensor):
    if not tensor.requires_grad:
        raise ValueError(f"{name}: {tensor.spec} does not require grad, no gradient will ever come to it")


def register_prehook(self, hook):
    """`hook(grad_outputs)` is called with the tuple of gradients of this node's outputs (None for an unused one) before its derivative
    is taken; a tuple that it returns replaces them. Returns a handle."""
    return hang(self, "before", hook)


def register_node_hook(self, hook):
    """`hook(grad_inputs, grad_outputs)` is called after this node's derivative was taken, with tuples that hold None where there is no
    gradient; a tuple that it returns replaces grad_inputs. Returns a handle."""
    return hang(self, "after", hook)


Node.register_prehook = register_prehook
Node.register_hook = register_node_hook


def arrived(place, g):
    """The gradient that a place goes on with: g as its hooks leave it."""
    hooks = getattr(place, "_hooks", None)
    if hooks is None:
        return g
    if type(g) is list:  # of a node of several outputs
        return as_parts(hooks, g)
    for hook in list(hooks.tensor.values()):
        g = replaced(hook(g), g)
    tensor = hooks.retained and hooks.retained()
    if tensor is not None:
        tensor.grad = g.clone() if tensor.grad is None else tensor.grad + g
    if hooks.before:
        (g,) = as_parts(hooks, [g])
    return g


def as_parts(hooks, parts):
    """The gradients of a node's outputs as its prehooks leave them."""
    for hook in list(hooks.before.values()):
        found = hook(tuple(parts))
        if found is not None:
            parts = checked(found, parts)
    return parts


def left(node, g, parts):
    """The gradients of a node's arguments as its hooks leave them."""
    hooks = getattr(node, "_hooks", None)
    if hooks is None or not hooks.after:
        return parts
    parts = [None if edge is None else part for edge, part in zip(node.edges, parts, strict=True)]
    outs = tuple(g) if type(g) is list else (g,)
    for hook in list(hooks.after.values()):
        found = hook(tuple(parts), outs)
        if found is not None:
            parts = checked(found, parts)
    return parts


def checked(found, parts):
    """What a hook returned for `parts`, as a list."""
    if not isinstance(found, (tuple, list)) or len(found) != len(parts):
        raise ValueError(f"a hook returned {found!r}, expected None or a tuple of {len(parts)} gradients")
    return [None if new is None else replaced(new, old) for new, old in zip(found, parts, strict=True)]


def replaced(new, old):
    """What a hook returned in place of `old`, which stays if that is None."""
    if new is None:
        return old
    if not hasattr(new, "spec"):
        raise TypeError(f"a hook returned a {type(new).__name__}, expected a tensor or None")
    if old is not None and (new.shape != old.shape or new.dtype is not old.dtype):
        raise ValueError(f"a hook returned {new.spec} for the gradient {old.spec}: shape and dtype must stay")
    return new


def accumulated(leaf):
    """Tells a leaf's hooks that its grad was added to."""
    hooks = getattr(leaf, "_hooks", None)
    for hook in list(hooks.accumulated.values()) if hooks else ():
        hook(leaf)
