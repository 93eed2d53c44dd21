"""Layer norm over the last dim, forward and backward."""

import numpy as np

from flow_kernels import _cpu

F32 = np.dtype(np.float32)


def layer_norm(x, weight=None, bias=None, eps=1e-5, out=None):
    """(y, mean, rstd): y = (x - mean) * rstd * weight + bias, with rstd = 1 / sqrt(variance + eps).

    x: float32 (..., cols), at least one column. weight, bias: float32 (cols,) or None. mean, rstd: (...,).
    The variance is the biased one (Ba, Kiros & Hinton 2016). `out` = (y, mean, rstd) gives the arrays to write; y may
    be x itself. Arrays must be C-contiguous: ValueError or TypeError says what to convert.
    """
    if out is None:
        y = np.empty_like(x)
        leading = y.shape[:-1]
        mean, rstd = np.empty(leading, F32), np.empty(leading, F32)
    else:
        y, mean, rstd = out
    _cpu.layer_norm(x, weight, bias, eps, y, mean, rstd)
    return y, mean, rstd


def layer_norm_backward(dy, x, weight, mean, rstd, out=None):
    """(dx, dweight, dbias), the gradients of `layer_norm`, from the gradient of y and what `layer_norm` returned.

    dx: (..., cols); dweight, dbias: (cols,), also where weight is None (then it counts as ones). `out` = (dx, dweight,
    dbias) gives the arrays to write; dweight or dbias that is None there is not computed; dx may be dy or x itself.
    """
    if out is None:
        dx = np.empty_like(x)
        last = dx.shape[-1:]
        dweight, dbias = np.empty(last, F32), np.empty(last, F32)
    else:
        dx, dweight, dbias = out
    _cpu.layer_norm_backward(dy, x, weight, mean, rstd, dx, dweight, dbias)
    return dx, dweight, dbias
