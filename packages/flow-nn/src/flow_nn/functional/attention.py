"""Attention: values weighted by how well their keys match queries. Vaswani et al., 1706.03762, section 3.2."""

import math

import flow_core as flow
from flow_core.dtype import bool_, float32
from flow_core.spec import broadcast_shapes
from flow_nn.functional.dropout import dropout
from flow_nn.functional.elementwise import FLOAT, number, require_kinds, require_tensor
from flow_nn.functional.geometry import as_type, widened


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """softmax(query key^T * scale + mask) value: query (..., L, E), key (..., S, E) and value (..., S, V) give (..., L, V).

    attn_mask broadcasts to (..., L, S): bools say which keys a query sees, floats are added. With is_causal query i sees keys up to i,
    and there is no attn_mask. Weights are dropped with probability dropout_p. scale is 1 / sqrt(E) unless given. With enable_gqa each
    head of key and value (dim -3) serves as many heads of query. A query that sees no key gives zeros.
    """
    name = "scaled_dot_product_attention"
    if attn_mask is None and not is_causal and not enable_gqa and dropout_p == 0 and alike(query, key, value):
        return flow.attention(query, key, value, scale=scale)[0]
    if attn_mask is None and is_causal and not enable_gqa and dropout_p == 0 and alike(query, key, value, square=True):
        return flow.attention(query, key, value, causal=True, scale=scale)[0]
    check_attention(name, query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = repeated_heads(name, query, key), repeated_heads(name, query, value)
    scale = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else float(number(name, "scale", scale))
    lead = broadcast_shapes(name, query.shape[:-2], key.shape[:-2])
    broadcast_shapes(name, lead, value.shape[:-2])
    scores = flow.matmul(widened(query), widened(key).mT) * scale
    mask = attn_mask
    if is_causal:
        mask = flow.unsqueeze(flow.arange(query.shape[-2]), -1) >= flow.arange(key.shape[-2])
    weights = safe_softmax(scores) if mask is None else safe_softmax(masked(name, scores, mask))
    return as_type(flow.matmul(dropout(weights, dropout_p), widened(value)), query.dtype)


def alike(query, key, value, square=False):
    """True where flow_core.attention takes the three: with `square`, where its causal mask is PyTorch's too."""
    if not (hasattr(query, "spec") and hasattr(key, "spec") and hasattr(value, "spec")):
        return False
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return False
    return not square or query.shape[-2:-1] == key.shape[-2:-1]


def check_attention(name, query, key, value, attn_mask, is_causal):
    """The errors of scaled_dot_product_attention's arguments."""
    for argument, t in (("query", query), ("key", key), ("value", value)):
        require_tensor(name, argument, t)
        require_kinds(name, t, (FLOAT,))
        if t.ndim < 2:
            raise ValueError(f"{name}: {argument} {t.spec} must have 2 dims at least")
        if t.dtype is not query.dtype:
            raise TypeError(f"{name}: query {query.spec} and {argument} {t.spec} must have one dtype")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"{name}: query {query.spec} and key {key.spec} must agree in the last dim, key and value {value.spec} in the last but one"
        )
    if attn_mask is None:
        return
    if is_causal:
        raise ValueError(f"{name}: give is_causal or attn_mask, not both")
    require_tensor(name, "attn_mask", attn_mask)
    if attn_mask.dtype not in (bool_, float32, query.dtype):
        raise TypeError(f"{name}: attn_mask is {attn_mask.spec}, expected bools, float32 or the dtype of {query.spec}")


def repeated_heads(name, query, x):
    """x (..., heads, S, E) with each head repeated until there are as many as query's."""
    if query.ndim < 3 or x.ndim < 3:
        raise ValueError(f"{name}: enable_gqa needs heads in the third dim from the end, given {query.spec}, {x.spec}")
    heads, wanted = x.shape[-3], query.shape[-3]
    if not heads or wanted % heads:
        raise ValueError(f"{name}: the {heads} heads of {x.spec} do not divide the {wanted} of query {query.spec}")
    if heads == wanted:
        return x
    shape = (*x.shape[:-3], heads, wanted // heads, *x.shape[-2:])
    return flow.reshape(flow.expand(flow.unsqueeze(x, -3), shape=shape), shape=(*x.shape[:-3], wanted, *x.shape[-2:]))


def masked(name, scores, mask):
    """scores with -inf where a mask of bools does not hold, or plus one of floats; the shapes must broadcast to that of scores."""
    if broadcast_shapes(name, scores.shape, mask.shape) != scores.shape:
        raise ValueError(f"{name}: attn_mask {mask.spec} does not broadcast to the scores, {scores.spec}")
    if mask.dtype is bool_:
        return flow.where(mask, scores, -math.inf)
    return scores + as_type(widened(mask), scores.dtype)


def safe_softmax(scores):
    """softmax along the last dim, zeros for a row of -inf."""
    dead = flow.all(scores == -math.inf, dim=-1, keepdim=True)
    weights = flow.softmax(flow.where(dead, 0.0, scores), dim=-1)
    return flow.where(dead, 0.0, weights)


__all__ = ["scaled_dot_product_attention"]
