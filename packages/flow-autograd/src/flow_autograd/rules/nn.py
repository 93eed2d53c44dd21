"""Derivatives of flow_core.ops.nn and flow_core.ops.attention.

The gradients of the fused ops are fused ops too. Theirs, which only second derivatives need, are taken of the same function written
in plain ops.
"""

import math

import flow_core as flow
from flow_autograd.pullback import pullback
from flow_autograd.vjp import defvjp, defvjp_joint


def as_composite(function):
    """The rule of an op by differentiating `function(*args, **attrs)`, which computes the same in ops that have rules already."""

    def rule(g, _out, *args, **attrs):
        return pullback(lambda *floats: function(*floats, **attrs), *args)[2](g)

    return rule


def softmax_rule(g, out, _x, dim):
    return out * (g - flow.sum(g * out, dim=dim, keepdim=True))


defvjp(flow.softmax, softmax_rule)
defvjp(flow.log_softmax, lambda g, out, _x, dim: g - flow.exp(out) * flow.sum(g, dim=dim, keepdim=True))


def gelu_slope(g, x, approximate):
    """gelu_backward in plain ops."""
    if approximate == "none":
        cdf = 0.5 * (1 + flow.erf(x * math.sqrt(0.5)))
        return g * (cdf + x * (flow.exp(-0.5 * (x * x)) / math.sqrt(2 * math.pi)))
    c = math.sqrt(2 / math.pi)
    t = flow.tanh(c * (x + 0.044715 * (x * x * x)))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (c * (1 + 3 * 0.044715 * (x * x))))


defvjp(flow.gelu, lambda g, _out, x, approximate: flow.gelu_backward(g, x, approximate=approximate))
defvjp_joint(flow.gelu_backward, as_composite(gelu_slope))


def layer_norm_rule(g, out, x, weight, bias, eps):
    only_first("layer_norm", g)
    dx, dweight, dbias = flow.layer_norm_backward(g[0], x, weight, *out[1:])
    return dx, None if weight is None else dweight, None if bias is None else dbias


def layer_norm_slope(g, x, weight, mean, rstd):
    """layer_norm_backward in plain ops, with mean and rstd as the functions of x that they are. 16-bit floats are cast to rstd's type."""
    dtype = x.dtype
    g, x, weight = [None if t is None else t.to(rstd.dtype) for t in (g, x, weight)]
    dims = tuple(range(x.ndim - 1))
    centred = x - flow.mean(x, dim=-1, keepdim=True)
    # eps is inside rstd: what rstd adds to the variance of x is a constant.
    eps = (1 / (rstd * rstd) - flow.mean(centred * centred, dim=-1)).detach()
    scale = flow.rsqrt(flow.mean(centred * centred, dim=-1, keepdim=True) + flow.unsqueeze(eps, -1))
    h = centred * scale
    gw = g if weight is None else g * weight
    dx = scale * (gw - flow.mean(gw, dim=-1, keepdim=True) - h * flow.mean(gw * h, dim=-1, keepdim=True))
    found = dx, flow.sum(g * h, dim=dims) if dims else g * h, flow.sum(g, dim=dims) if dims else g
    return tuple([t.to(dtype) for t in found])


defvjp_joint(flow.layer_norm, layer_norm_rule)
defvjp_joint(flow.layer_norm_backward, as_composite(layer_norm_slope))


def cross_entropy_rule(g, out, logits, targets, ignore_index):
    only_first("cross_entropy_rows", g)
    return flow.cross_entropy_rows_backward(g[0], logits, targets, out[1], ignore_index=ignore_index), None


def cross_entropy_slope(g, logits, targets, lse, ignore_index):
    """cross_entropy_rows_backward in plain ops, with lse as the function of logits that it is."""
    kept = targets != ignore_index
    classes = flow.arange(logits.shape[-1])
    one_hot = flow.cast(flow.unsqueeze(targets, -1) == classes, dtype=logits.dtype)
    return flow.unsqueeze(flow.where(kept, g, 0.0), -1) * (flow.softmax(logits, dim=-1) - one_hot)


defvjp_joint(flow.cross_entropy_rows, cross_entropy_rule)
defvjp_joint(flow.cross_entropy_rows_backward, as_composite(cross_entropy_slope))


def attention_rule(g, out, q, k, v, causal, scale):
    only_first("attention", g)
    return flow.attention_backward(g[0], q, k, v, *out, causal=causal, scale=scale)


def attention_slope(g, q, k, v, out, lse, causal, scale):
    """attention_backward in plain ops, with out and lse as the functions of q, k and v that they are."""
    scores = flow.matmul(q, k.mT) * scale  # (..., queries, keys)
    if causal:
        num_queries, num_keys = q.shape[-2], k.shape[-2]
        place = flow.unsqueeze(flow.arange(num_queries), -1) + (num_keys - num_queries)
        keys = flow.arange(num_keys)
        # A query that sees no key has no softmax: it is taken over all of them and then set to 0.
        scores = flow.where(keys <= flow.where(place < 0, num_keys, place), scores, -math.inf)
        p = flow.where(keys <= place, flow.softmax(scores, dim=-1), 0.0)
    else:
        p = flow.softmax(scores, dim=-1)
    dv = flow.matmul(p.mT, g)
    dp = flow.matmul(g, v.mT)
    ds = p * (dp - flow.sum(p * dp, dim=-1, keepdim=True)) * scale
    return flow.matmul(ds, k), flow.matmul(ds.mT, q), dv


defvjp_joint(flow.attention, attention_rule)
defvjp_joint(flow.attention_backward, as_composite(attention_slope))


def only_first(name, grads):
    """What a fused op keeps beside its output is for its gradient alone."""
    if any(g is not None for g in grads[1:]):
        raise TypeError(f"{name}: the statistics it returns beside its output have no gradient")
