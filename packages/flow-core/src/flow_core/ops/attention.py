"""Scaled dot-product attention, forward and backward. Vaswani et al., 1706.03762, section 3.2.1."""

import math

import numpy as np

from flow_core.op import Checked, define
from flow_core.ops.nn import require_float, require_shapes, statistics_type, wide_type
from flow_core.spec import as_float


def scores(q, k, causal, scale):
    """q k^T * scale, with -inf where a causal query may not look: at keys later than its own place, counted from the ends."""
    s = np.matmul(q, k.swapaxes(-1, -2))  # (..., queries, keys)
    s *= scale
    if causal:
        num_queries, num_keys = s.shape[-2:]
        s += np.triu(np.full((num_queries, num_keys), -np.inf, s.dtype), num_keys - num_queries + 1)
    return s


def attention_kernel(q, k, v, /, *, causal, scale):
    wide, stats, dtype = wide_type(q.dtype), statistics_type(q.dtype), q.dtype

    def run(q, k, v):
        with np.errstate(all="ignore"):
            s = scores(q.astype(wide, copy=False), k.astype(wide, copy=False), causal, scale)
            top = s.max(axis=-1, keepdims=True, initial=-np.inf)
            top[np.isneginf(top)] = 0
            p = np.exp(s - top, out=s)
            total = p.sum(axis=-1, keepdims=True)
            out = np.matmul(p, v.astype(wide, copy=False)) / np.where(total == 0, 1, total)
            return np.asarray(out, dtype), np.asarray(np.log(total) + top, stats)[..., 0]

    return run


@define(attention_kernel)
def attention(q, k, v, /, *, causal=False, scale=None):
    """(out, lse): softmax(q k^T * scale) v, and each query's log sum exp of scores.

    q (..., queries, head_dim), k (..., keys, head_dim), v (..., keys, value_dim) give out (..., queries, value_dim) and lse
    (..., queries). `causal` lets query i see keys up to i + keys - queries. `scale` is 1 / sqrt(head_dim) unless given. A query that
    sees no key gives zeros.
    """
    check_attention("attention", q, k, v)
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else as_float("attention", "scale", scale)
    out = q.with_shape((*q.shape[:-1], v.shape[-1]))
    lse = q.with_shape(q.shape[:-1]).with_dtype(statistics_type(q.dtype))
    return Checked((out, lse), {"causal": bool(causal), "scale": scale})


def check_attention(name, q, k, v):
    """The errors of an attention's arguments."""
    require_float(name, q, k, v)
    if not (q.ndim == k.ndim == v.ndim >= 2) or not (q.shape[:-2] == k.shape[:-2] == v.shape[:-2]):
        raise ValueError(f"{name}: q {q}, k {k} and v {v} must have the same dims before the last two")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(f"{name}: q {q} and k {k} must agree in the last dim, k and v {v} in the last but one")
    if not q.dtype is k.dtype is v.dtype:
        raise TypeError(f"{name}: q {q}, k {k} and v {v} must have one dtype")


def attention_backward_kernel(g, q, k, v, out, lse, /, *, causal, scale):
    wide, dtype = wide_type(q.dtype), q.dtype

    def run(g, q, k, v, out, lse):
        g, q, k, v, out = (a.astype(wide, copy=False) for a in (g, q, k, v, out))
        with np.errstate(all="ignore"):
            p = scores(q, k, causal, scale)
            p -= np.where(np.isneginf(lse), 0, lse)[..., None].astype(wide, copy=False)
            np.exp(p, out=p)  # (..., queries, keys)
            dv = np.matmul(p.swapaxes(-1, -2), g)
            ds = np.matmul(g, v.swapaxes(-1, -2))
            ds -= (g * out).sum(axis=-1, keepdims=True)
            ds *= p
            ds *= scale
        return tuple([np.asarray(d, dtype) for d in (np.matmul(ds, k), np.matmul(ds.swapaxes(-1, -2), q), dv)])

    return run


@define(attention_backward_kernel, linear=(0,))
def attention_backward(g, q, k, v, out, lse, /, *, causal, scale):
    """(dq, dk, dv): the gradients of attention's output, from theirs and what it returned. Dao, 2307.08691, algorithm 2, unblocked."""
    check_attention("attention_backward", q, k, v)
    require_float("attention_backward", g, out, lse)
    require_shapes("attention_backward", (*q.shape[:-1], v.shape[-1]), g=g, out=out)
    require_shapes("attention_backward", q.shape[:-1], lse=lse)
    return Checked((q, k, v), {"causal": bool(causal), "scale": as_float("attention_backward", "scale", scale)})
