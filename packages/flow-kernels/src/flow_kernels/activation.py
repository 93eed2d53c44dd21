"""GELU, exact and by tanh, forward and backward."""

import numpy as np

from flow_kernels import _cpu

FORWARD = {"none": _cpu.gelu, "tanh": _cpu.gelu_tanh}
BACKWARD = {"none": _cpu.gelu_backward, "tanh": _cpu.gelu_tanh_backward}


def gelu(x, approximate="none", out=None):
    """x * Phi(x), Phi the normal distribution function (Hendrycks & Gimpel 2016).

    x: float32 of any shape, C-contiguous. approximate: "none", right to some 3e-7 * |x|, or "tanh", which is
    0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). `out` gives the array to write, which may be x itself.
    """
    y = np.empty_like(x) if out is None else out
    _chosen(FORWARD, approximate)(x, y)
    return y


def gelu_backward(dy, x, approximate="none", out=None):
    """The gradient of x: dy times the derivative of `gelu` at x. `out` may be dy or x itself."""
    dx = np.empty_like(x) if out is None else out
    _chosen(BACKWARD, approximate)(dy, x, dx)
    return dx


def _chosen(kernels, approximate):
    kernel = kernels.get(approximate)
    if kernel is None:
        raise ValueError(f"approximate is {approximate!r}, expected one of {', '.join(map(repr, kernels))}")
    return kernel
