"""Linear maps."""

import math

import flow_core as flow
from flow_nn import init
from flow_nn.functional import linear
from flow_nn.module import Module, Parameter


class Linear(Module):
    """x (..., *in_features) to x weight^T + bias (..., *out_features).

    Features are an int, as in PyTorch, or several dims, as (heads, head_dim), which stay apart so that one of them can be split over
    ranks: Linear(128, (3, 4, 32)) has weight (3, 4, 32, 128) and bias (3, 4, 32).
    """

    def __init__(self, in_features, out_features, bias=True, *, dtype=flow.float32):
        super().__init__()
        self.in_features, self.out_features = as_features(in_features), as_features(out_features)
        self.weight = Parameter(flow.zeros(*self.out_features, *self.in_features, dtype=dtype))
        self.bias = Parameter(flow.zeros(*self.out_features, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws weight and bias anew, evenly within 1 / sqrt(number of inputs)."""
        fan_in = math.prod(self.in_features)
        init.fan_uniform_(self.weight, fan_in)
        if self.bias is not None:
            init.fan_uniform_(self.bias, fan_in)

    def forward(self, x):
        return linear(x, self.weight, self.bias, num_in=len(self.in_features))

    def extra_repr(self):
        sides = [f[0] if len(f) == 1 else f for f in (self.in_features, self.out_features)]
        return f"in_features={sides[0]}, out_features={sides[1]}, bias={self.bias is not None}"


def as_features(given):
    """Feature dims as a tuple of positive ints."""
    features = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not features or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in features):
        raise ValueError(f"Linear: features {given!r} are not a positive int or several")
    return features
