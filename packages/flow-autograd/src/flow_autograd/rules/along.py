"""Derivatives of flow_core.ops.along."""

import flow_core as flow
from flow_autograd.vjp import defvjp, no_vjp
from flow_core.ops import along
from flow_core.ops.index import slice_


def backwards(x, dim):
    """x with the elements along `dim` in the opposite order."""
    whole = ("slice", None, None, None)
    return slice_(x, index=tuple([("slice", None, None, -1) if d == dim else whole for d in range(x.ndim)]))


def cumsum_rule(g, _out, _x, dim):
    """A sum up to a place has each element before it: a running sum from the other end."""
    if not _x.ndim:
        return flow.cast(g, dtype=_x.dtype)
    return backwards(along.cumsum(backwards(g, dim), dim=dim), dim)


defvjp(along.cumsum, cumsum_rule)
no_vjp("its outputs are indices", along.argsort)
defvjp(along.gather, lambda g, _out, _x, index, dim: along.add_along(g, index, dim=dim, shape=_x.shape), None)
defvjp(along.add_along, lambda g, _out, _g, index, dim, shape: along.gather(g, index, dim=dim), None)
