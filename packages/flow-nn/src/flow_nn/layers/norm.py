"""Normalisation."""

import flow_core as flow
from flow_nn import init
from flow_nn.functional import layer_norm
from flow_nn.module import Module, Parameter


class LayerNorm(Module):
    """Normalises over the last dims, `normalized_shape`, to mean 0 and variance 1, then scales and shifts elementwise."""

    def __init__(self, normalized_shape, eps=1e-5, bias=True, *, dtype=flow.float32):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(flow.ones(*self.normalized_shape, dtype=dtype))
        self.bias = Parameter(flow.zeros(*self.normalized_shape, dtype=dtype)) if bias else None

    def reset_parameters(self):
        """Sets weight to ones and bias to zeros."""
        init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, x):
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"
