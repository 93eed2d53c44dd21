"""Activations and dropout: modules without parameters."""

from flow_nn import functional
from flow_nn.module import Module


class GELU(Module):
    """x Phi(x); approximate="tanh" is the formula of GPT-2."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, x):
        return functional.gelu(x, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Dropout(Module):
    """In training, zeroes each element with probability p and divides the rest by 1 - p."""

    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p is {p}, expected a probability between 0 and 1")
        self.p = p

    def forward(self, x):
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}"
