"""Attention: values weighted by how well their keys match queries."""

import flow_core as flow


def scaled_dot_product_attention(query, key, value, *, is_causal=False, scale=None):
    """softmax(query key^T * scale) value over the last two dims, (..., tokens, head_dim); see flow_core.attention."""
    return flow.attention(query, key, value, causal=is_causal, scale=scale)[0]


__all__ = ["scaled_dot_product_attention"]
