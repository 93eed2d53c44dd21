"""Derivatives of flow_core.ops.shape."""

import flow_core as flow
from flow_autograd.vjp import defvjp, defvjp_joint, unbroadcast
from flow_core.ops.shape import split_sizes

defvjp(flow.reshape, lambda g, _out, _x, shape: flow.reshape(g, shape=_x.shape))
defvjp(flow.transpose, lambda g, _out, _x, dim0, dim1: flow.transpose(g, dim0=dim0, dim1=dim1))
defvjp(flow.permute, lambda g, _out, _x, dims: flow.permute(g, dims=tuple([dims.index(d) for d in range(len(dims))])))
defvjp(flow.expand, lambda g, _out, _x, shape: unbroadcast(g, _x))


def cat_parts(g, _out, *_tensors, dim):
    sizes = tuple([t.shape[dim] if t.ndim == g.ndim else 0 for t in _tensors])
    parts = [
        part if part.ndim == t.ndim else flow.reshape(part, shape=t.shape)  # a vector of no elements
        for part, t in zip(split_sizes(g, sizes=sizes, dim=dim), _tensors, strict=True)
    ]
    return [
        part if part.dtype is t.dtype else flow.cast(part, dtype=t.dtype)
        for part, t in zip(parts, _tensors, strict=True)
    ]


def split_whole(g, _out, _x, sizes, dim):
    """The parts' gradients joined, zeros for the parts that were not used."""
    whole = next(part for part in g if part is not None)

    def zeros(n):
        return flow.full_like(
            flow.expand(flow.sum(whole, dim=dim, keepdim=True), shape=(*_x.shape[:dim], n, *_x.shape[dim + 1 :])), 0
        )

    return (flow.cat([zeros(n) if part is None else part for part, n in zip(g, sizes, strict=True)], dim=dim),)


defvjp_joint(flow.cat, cat_parts)
defvjp_joint(split_sizes, split_whole)
