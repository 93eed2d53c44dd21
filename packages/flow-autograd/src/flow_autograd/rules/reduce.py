"""Derivatives of flow_core.ops.reduce."""

import flow_core as flow
from flow_autograd.vjp import defvjp, no_vjp


def widen(g, spec, dim, keepdim):
    """A reduction's gradient with the reduced dims put back as dims of size 1, ready to broadcast to `spec`."""
    if keepdim or len(dim) in (0, spec.ndim):  # what is left has no dims, and broadcasts as it is
        return g
    return flow.reshape(g, shape=tuple([1 if d in dim else n for d, n in enumerate(spec.shape)]))


def spread(g, spec, dim, keepdim):
    """A sum's gradient: g for every element of `spec`."""
    return flow.expand(widen(g, spec, dim, keepdim), shape=spec.shape)


def extreme(g, out, x, dim, keepdim):
    """g shared evenly among the elements that equal the extreme one."""
    ties = flow.cast(x == widen(out, x.spec, dim, keepdim), dtype=x.dtype)
    return widen(g, x.spec, dim, keepdim) * (ties / flow.sum(ties, dim=dim, keepdim=True))


def mean_spread(g, _out, _x, dim, keepdim):
    count = 1
    for d in dim:
        count *= _x.shape[d]
    return spread(g / count, _x, dim, keepdim)


defvjp(flow.sum, lambda g, _out, _x, dim, keepdim: spread(g, _x, dim, keepdim))
defvjp(flow.mean, mean_spread)
defvjp(flow.amax, extreme)
defvjp(flow.amin, extreme)
defvjp(flow.sum_of_squares, lambda g, _out, x: g * (2 * x))
no_vjp("its outputs are indices", flow.argmax)
no_vjp("its outputs are bools", flow.any, flow.all)
