"""Normalisation of a tensor by statistics of its own, or kept ones."""

import flow_core as flow


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


__all__ = ["layer_norm"]
