"""Softmax over the last dim, causal if asked, forward and backward."""

import numpy as np

from flow_kernels import _cpu


def softmax(x, causal=False, out=None):
    """exp(x) / sum(exp(x)) over the last dim.

    x: float32 (..., cols), C-contiguous. causal: x is (..., queries, keys), and query q sees the keys up to
    q + keys - queries only, so that the last query sees all; what a row does not see is 0, and a row that sees nothing
    is all 0. A row of -inf alone, or with NaN in what it sees, is NaN; so is an element of +inf. `out` gives the array
    to write, which may be x itself.
    """
    y = np.empty_like(x) if out is None else out
    _cpu.softmax(x, causal, y)
    return y


def softmax_backward(dy, y, causal=False, out=None):
    """The gradient of x, y * (dy - sum(dy * y)), from what `softmax` returned. `out` may be dy or y itself."""
    dx = np.empty_like(y) if out is None else out
    _cpu.softmax_backward(dy, y, causal, dx)
    return dx
