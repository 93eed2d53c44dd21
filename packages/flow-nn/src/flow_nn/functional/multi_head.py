"""Multi-head attention: attention of several projections of queries, keys and values at once. Vaswani et al., 1706.03762, section 3.2.2."""

import math

import flow_core as flow
from flow_core.dtype import CATEGORIES, bool_
from flow_nn.functional.attention import scaled_dot_product_attention
from flow_nn.functional.dropout import dropout
from flow_nn.functional.elementwise import FLOAT, require_tensor
from flow_nn.functional.geometry import as_type
from flow_nn.functional.linear import linear

NAME = "multi_head_attention_forward"


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """(output, weights): query (L, N, E), key and value (S, N, E) give output (L, N, E) and weights (N, L, S), the mean of the heads'
    or, without average_attn_weights, (N, heads, L, S); None without need_weights. All may come without the batch dim N.

    in_proj_weight (3 E, E) projects to queries, keys and values; with use_separate_proj_weight q_, k_ and v_proj_weight do. bias_k and
    bias_v (1, 1, E) are added as a last key and value, and with add_zero_attn one of zeros. static_k and static_v (N * heads, S,
    E / heads) stand for the projected key and value. key_padding_mask (N, S) and attn_mask (L, S) or (N * heads, L, S) say, as bools,
    which keys are NOT seen; floats are added. is_causal is a hint that attn_mask is the causal mask. Dropout in training alone.
    """
    single = check_shapes(query, key, value, embed_dim_to_check, num_heads, key_padding_mask, attn_mask)
    if single:
        query, key, value = (flow.unsqueeze(t, 1) for t in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else flow.unsqueeze(key_padding_mask, 0)
    if is_causal and attn_mask is None:
        raise ValueError(f"{NAME}: is_causal is a hint about attn_mask, which is not given")
    length, batch, width = query.shape
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias, separate)
    by_hint = is_causal and key_padding_mask is None and not need_weights
    mask = None if by_hint else additive("attn_mask", attn_mask, q.dtype)
    padding = additive("key_padding_mask", key_padding_mask, q.dtype)

    extra = 0
    if (bias_k is None) != (bias_v is None):
        raise ValueError(f"{NAME}: give both bias_k and bias_v, or neither")
    if bias_k is not None:
        if static_k is not None or static_v is not None:
            raise ValueError(f"{NAME}: bias_k and bias_v cannot be added to static keys and values")
        k, v = (flow.cat(t, flow.expand(b, shape=(1, batch, width)), dim=0) for t, b in ((k, bias_k), (v, bias_v)))
        extra += 1
    q = in_heads(q, num_heads)
    k = static("static_k", static_k, batch * num_heads, q) if static_k is not None else in_heads(k, num_heads)
    v = static("static_v", static_v, batch * num_heads, q) if static_v is not None else in_heads(v, num_heads)
    if add_zero_attn:
        k, v = (flow.cat(t, flow.zeros(t.shape[0], 1, t.shape[2], dtype=t.dtype), dim=1) for t in (k, v))
        extra += 1
    mask = joint_mask(mask, padding, extra, batch, num_heads, length, k.shape[1])
    p = dropout_p if training else 0.0
    heads = (batch, num_heads)
    q, k, v = (flow.reshape(t, shape=(*heads, *t.shape[1:])) for t in (q, k, v))
    if not need_weights:
        out = scaled_dot_product_attention(q, k, v, mask, p, by_hint)
        return joined(out, out_proj_weight, out_proj_bias, single), None
    scores = flow.matmul(q * math.sqrt(1.0 / q.shape[-1]), k.mT)
    weights = dropout(flow.softmax(scores if mask is None else scores + mask, dim=-1), p)
    out = joined(flow.matmul(weights, v), out_proj_weight, out_proj_bias, single)
    if average_attn_weights:
        weights = flow.mean(weights, dim=1)
    return out, flow.reshape(weights, shape=weights.shape[1:]) if single else weights


def check_shapes(query, key, value, width, num_heads, key_padding_mask, attn_mask):
    """True where the three come without a batch; ValueError for shapes that do not fit."""
    for argument, t in (("query", query), ("key", key), ("value", value)):
        require_tensor(NAME, argument, t)
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        raise ValueError(
            f"{NAME}: query {query.spec}, key {key.spec} and value {value.spec} must have 3 dims each, or 2 without the batch"
        )
    if query.shape[-1] != width:
        raise ValueError(f"{NAME}: query {query.spec} has not the {width} channels that are expected")
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"{NAME}: {num_heads} heads do not divide {width} channels")
    if key.shape[:-1] != value.shape[:-1]:
        raise ValueError(f"{NAME}: key {key.spec} and value {value.spec} must agree in all dims but the last")
    single = query.ndim == 2
    if not single and query.shape[1] != key.shape[1]:
        raise ValueError(f"{NAME}: query {query.spec} and key {key.spec} must have one batch")
    padding = key.shape[:1] if single else (key.shape[1], key.shape[0])
    if key_padding_mask is not None and key_padding_mask.shape != padding:
        raise ValueError(f"{NAME}: key_padding_mask is {key_padding_mask.spec}, expected the shape {padding}")
    pairs = query.shape[0], key.shape[0]
    per_head = (num_heads * (1 if single else query.shape[1]), *pairs)
    if attn_mask is not None and attn_mask.shape not in (pairs, per_head):
        raise ValueError(f"{NAME}: attn_mask is {attn_mask.spec}, expected the shape {pairs} or {per_head}")
    return single


def projected(query, key, value, in_proj_weight, in_proj_bias, separate):
    """The three, each mapped to E channels by its third of in_proj_weight, or by its own weight."""
    width = query.shape[-1]
    if separate is None:
        if in_proj_weight is None or in_proj_weight.shape[:1] != (3 * width,):
            raise ValueError(f"{NAME}: in_proj_weight must have {3 * width} rows, three times the channels of query")
        weights = flow.chunk(in_proj_weight, 3)
        if not key.shape[-1] == value.shape[-1] == width:
            raise ValueError(f"{NAME}: key {key.spec} and value {value.spec} must have the {width} channels of query")
    else:
        weights = separate
        for name, w, t in zip("qkv", weights, (query, key, value), strict=True):
            if w is None or w.shape != (width, t.shape[-1]):
                raise ValueError(
                    f"{NAME}: {name}_proj_weight is {getattr(w, 'spec', w)}, expected the shape {(width, t.shape[-1])}"
                )
    biases = (None,) * 3 if in_proj_bias is None else flow.chunk(in_proj_bias, 3)
    return [linear(t, w, b) for t, w, b in zip((query, key, value), weights, biases, strict=True)]


def additive(argument, mask, dtype):
    """A mask of floats, -inf for True, from one of bools or floats, or None."""
    if mask is None:
        return None
    if mask.dtype is bool_:
        return flow.where(mask, flow.full((), -math.inf, dtype=dtype), flow.zeros((), dtype=dtype))
    if CATEGORIES[mask.dtype] != FLOAT:
        raise TypeError(f"{NAME}: {argument} is {mask.spec}, expected bools or floats")
    return as_type(mask, dtype)


def in_heads(x, num_heads):
    """x (S, N, E) as (N * heads, S, E / heads)."""
    length, batch, width = x.shape
    return flow.transpose(flow.reshape(x, shape=(length, batch * num_heads, width // num_heads)), dim0=0, dim1=1)


def static(argument, x, batch, q):
    """x, a key or value that needs no projection; ValueError unless it has a head of q's size for each of q's."""
    if x.ndim != 3 or x.shape[0] != batch or x.shape[2] != q.shape[2]:
        raise ValueError(f"{NAME}: {argument} is {x.spec}, expected the shape ({batch}, keys, {q.shape[2]})")
    return x


def joint_mask(mask, padding, extra, batch, num_heads, length, num_keys):
    """The two masks added, 0 for the `extra` last keys, as broadcasts to (batch, heads, length, num_keys); or None."""
    if mask is not None:
        mask = widened_keys(mask, extra)
        mask = flow.reshape(mask, shape=(batch, num_heads, length, num_keys)) if mask.ndim == 3 else mask
    if padding is None:
        return mask
    padding = flow.reshape(widened_keys(padding, extra), shape=(batch, 1, 1, num_keys))
    return padding if mask is None else mask + padding


def widened_keys(mask, extra):
    """The mask with `extra` keys more, which are seen."""
    return flow.cat(mask, flow.zeros(*mask.shape[:-1], extra, dtype=mask.dtype), dim=-1) if extra else mask


def joined(x, weight, bias, single):
    """x (N, heads, L, E / heads), its heads side by side, projected: (L, N, E), or (L, E) where there was no batch."""
    batch, num_heads, length, size = x.shape
    x = flow.reshape(flow.permute(x, (2, 0, 1, 3)), shape=(length, batch, num_heads * size))
    y = linear(x, weight, bias)
    return flow.reshape(y, shape=(length, y.shape[-1])) if single else y


__all__ = ["multi_head_attention_forward"]
