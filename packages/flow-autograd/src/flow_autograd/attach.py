"""Gives tensor-like classes their method `backward`."""

from flow_autograd.backward import backward
from flow_core.tensor import Tensor


def backward_method(self, gradient=None, *, retain_graph=False, create_graph=False):
    """Adds this tensor's gradients to `.grad` of the leaves it depends on; see flow_autograd.backward."""
    backward(self, gradient, retain_graph=retain_graph, create_graph=create_graph)


def attach(cls):
    """Adds `backward` to a tensor-like class."""
    cls.backward = backward_method


attach(Tensor)
