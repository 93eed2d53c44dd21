"""Functions of tensors that modules are made of, with PyTorch's names and arguments."""

import flow_core as flow

softmax = flow.softmax
log_softmax = flow.log_softmax
gelu = flow.gelu
linear = flow.linear
dropout = flow.dropout


def embedding(ids, weight):
    """The rows of weight (rows, channels) that ids name: (*ids.shape, channels)."""
    return flow.take_rows(ids, weight)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """x normalised over its last dims, which must be `normalized_shape`, then times weight plus bias, which have that shape."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[x.ndim - len(shape) :] != shape:
        raise ValueError(f"layer_norm: normalized_shape {shape} is not the end of the shape of {x.spec}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != shape:
            raise ValueError(f"layer_norm: {name} is {t.spec}, expected the shape {shape}")
    if len(shape) > 1:
        weight, bias = (None if t is None else flow.flatten(t) for t in (weight, bias))
        flat = flow.flatten(x, x.ndim - len(shape))
        return flow.reshape(flow.layer_norm(flat, weight, bias, eps=eps)[0], shape=x.shape)
    return flow.layer_norm(x, weight, bias, eps=eps)[0]


def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    """The negative log-likelihood of targets (...) int64 under logits (..., classes), classes last.

    "mean" is over the targets that are not `ignore_index` (NaN if there are none), "sum" their sum, "none" a loss for each target.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'cross_entropy: reduction is {reduction!r}, expected "mean", "sum" or "none"')
    losses, _ = flow.cross_entropy_rows(logits, targets, ignore_index=ignore_index)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return flow.sum(losses)
    return flow.sum(losses) / flow.cast(flow.sum(targets != ignore_index), dtype=losses.dtype)


def scaled_dot_product_attention(query, key, value, *, is_causal=False, scale=None):
    """softmax(query key^T * scale) value over the last two dims, (..., tokens, head_dim); see flow_core.attention."""
    return flow.attention(query, key, value, causal=is_causal, scale=scale)[0]
