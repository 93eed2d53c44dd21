"""The kernels in plain numpy: what each one computes. Computed in float64, returned in the type of the floats given."""

from math import erfc

import numpy as np


def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """(y, mean, rstd) with y = (x - mean) * rstd * weight + bias over the last dim."""
    dtype, x64 = x.dtype, x.astype(np.float64)
    mean = x64.mean(-1)
    rstd = 1 / np.sqrt(x64.var(-1) + float(dtype.type(eps)))
    y = (x64 - mean[..., None]) * rstd[..., None]
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    return _rounded(dtype, y, mean, rstd)


def layer_norm_backward(dy, x, weight, mean, rstd):
    """(dx, dweight, dbias), the gradients of `layer_norm`."""
    dtype, dy = dy.dtype, dy.astype(np.float64)
    scale = rstd.astype(np.float64)[..., None]
    h = (x - mean.astype(np.float64)[..., None]) * scale
    g = dy if weight is None else dy * weight
    dx = scale * (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True))
    leading = tuple(range(x.ndim - 1))
    return _rounded(dtype, dx, (dy * h).sum(leading), dy.sum(leading))


def cross_entropy(logits, targets, ignore_index=-100):
    """(loss, lse) with lse = log(sum(exp(logits))) over the last dim and loss = lse - logits[target]; 0 if ignored."""
    dtype, x = logits.dtype, logits.astype(np.float64)
    peak = x.max(-1, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lse = np.log(np.exp(x - peak).sum(-1)) + peak[..., 0]
        kept = targets != ignore_index
        picked = np.take_along_axis(x, np.where(kept, targets, 0)[..., None], -1)[..., 0]
        return _rounded(dtype, np.where(kept, lse - picked, 0), lse)


def cross_entropy_backward(dloss, logits, targets, lse, ignore_index=-100):
    """The gradient of the logits: (exp(logits - lse) - onehot(target)) * dloss; 0 if ignored."""
    dtype, kept = logits.dtype, targets != ignore_index
    onehot = np.arange(logits.shape[-1]) == np.where(kept, targets, -1)[..., None]
    with np.errstate(invalid="ignore", over="ignore"):
        dlogits = (np.exp(logits.astype(np.float64) - lse[..., None]) - onehot) * dloss[..., None]
    return _rounded(dtype, np.where(kept[..., None], dlogits, 0))


def adamw(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    *,
    step,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=1e-2,
    grad_scale=1.0,
):
    """One AdamW step in place, by the formula and in the order of PyTorch, each operation rounded to the parameter's type."""
    for p, g, m, v in zip(params, grads, exp_avgs, exp_avg_sqs, strict=True):
        real = p.dtype.type
        g = g * real(grad_scale)
        p *= real(1 - lr * weight_decay)
        # As torch.lerp: from the nearer end.
        weight = real(1 - beta1)
        m[...] = m + weight * (g - m) if weight < 0.5 else g - (g - m) * (real(1) - weight)
        v[...] = v * real(beta2) + real(1 - beta2) * g * g
        denom = np.sqrt(v) / real((1 - beta2**step) ** 0.5) + real(eps)
        p += real(-lr / (1 - beta1**step)) * m / denom


def gelu(x, approximate="none"):
    """x * Phi(x), Phi the normal distribution function; by "tanh", Phi is (1 + tanh(u)) / 2 of `_tanh_gate`."""
    dtype, x = x.dtype, x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return _rounded(dtype, x * (_normal_cdf(x) if approximate == "none" else _tanh_gate(x)[0]))


def gelu_backward(dy, x, approximate="none"):
    """dy times the derivative of `gelu` at x."""
    dtype, x = x.dtype, x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        if approximate == "none":
            slope = _normal_cdf(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        else:
            gate, gate_slope = _tanh_gate(x)
            slope = gate + x * gate_slope
        return _rounded(dtype, dy * slope)


def softmax(x, causal=False):
    """exp(x) / sum(exp(x)) over the columns that a row sees, the last dim; 0 elsewhere."""
    dtype, seen = x.dtype, _seen(x.shape, causal)
    x = np.where(seen, x.astype(np.float64), -np.inf)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
        return _rounded(dtype, np.where(seen, e / e.sum(-1, keepdims=True), 0))


def softmax_backward(dy, y, causal=False):
    """The gradient of x: y * (dy - sum(dy * y)), over the columns that a row sees."""
    dtype, seen = y.dtype, _seen(y.shape, causal)
    dy = np.where(seen, dy.astype(np.float64), 0)
    y = np.where(seen, y.astype(np.float64), 0)
    return _rounded(dtype, y * (dy - (dy * y).sum(-1, keepdims=True)))


def _seen(shape, causal):
    """Which columns each row of the last two dims sees: all, or those up to row + (columns - rows)."""
    if not causal:
        return np.ones(shape, bool)
    rows, cols = shape[-2:]
    return np.broadcast_to(np.arange(cols) <= np.arange(rows)[:, None] + (cols - rows), shape)


def _normal_cdf(x):
    """Phi(x) = erfc(-x / sqrt(2)) / 2, by the C library's erfc, element by element."""
    return np.vectorize(lambda t: 0.5 * erfc(-t / 2**0.5), otypes=[np.float64])(x)


def _tanh_gate(x):
    """(1 + tanh(u)) / 2 and its derivative in x, u = sqrt(2 / pi) * (x + 0.044715 x^3); by exp: 1 + tanh cancels."""
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    e = np.exp(-2 * np.abs(u))
    gate = np.where(u >= 0, 1, e) / (1 + e)
    gate = np.where(np.isnan(u), u, gate)
    return gate, e / (1 + e) ** 2 * 2 * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)


def _rounded(dtype, *arrays):
    """The arrays rounded to `dtype`, where what is too large becomes inf."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = tuple(np.asarray(a, dtype) for a in arrays)
    return rounded[0] if len(rounded) == 1 else rounded
