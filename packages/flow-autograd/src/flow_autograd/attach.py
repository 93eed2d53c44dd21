"""Gives tensor-like classes their methods of differentiation."""

from flow_autograd.backward import backward
from flow_autograd.hooks import register_hook, register_post_accumulate_grad_hook, retain_grad
from flow_core.tensor import Tensor


def backward_method(self, gradient=None, *, retain_graph=False, create_graph=False):
    """Adds this tensor's gradients to `.grad` of the leaves it depends on; see flow_autograd.backward."""
    backward(self, gradient, retain_graph=retain_graph, create_graph=create_graph)


def attach(cls):
    """Adds `backward`, hooks and `retain_grad` to a tensor-like class."""
    cls.backward = backward_method
    cls.register_hook = register_hook
    cls.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
    cls.retain_grad = retain_grad


attach(Tensor)
