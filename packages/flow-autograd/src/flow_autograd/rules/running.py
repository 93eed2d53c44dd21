"""Derivatives of flow_core.ops.running, by way of the same values in ops that have rules, found by doubling."""

import flow_core as flow
from flow_autograd.rules.nn import as_composite
from flow_autograd.transform import vjp
from flow_autograd.vjp import defvjp, defvjp_joint, no_vjp
from flow_core.functions.shapes import along
from flow_core.ops import binary, running


def scan(combine):
    """A running `combine` along a dim in log2(n) steps (Hillis and Steele, 1986): no division, so zeros are no special case."""

    def function(x, dim):
        n, step = (x.shape[dim] if x.ndim else 1), 1
        while step < n:
            joined = combine(along(x, dim, slice(step, None)), along(x, dim, slice(None, -step)))
            x = flow.cat([along(x, dim, slice(step)), joined], dim=dim)
            step *= 2
        return x if x.ndim and n > 1 else flow.cast(x, dtype=x.dtype)

    return function


defvjp_joint(running.cumprod, as_composite(scan(flow.mul)))
defvjp(running.logcumsumexp, lambda g, out, x, dim: running.logcumsumexp_backward(g, x, out, dim=dim))


def logcumsumexp_slope(g, x, out, dim):
    """logcumsumexp_backward in plain ops, with out as the function of x that it is."""
    return vjp(lambda x: scan(binary.logaddexp)(x, dim), x)[1](g)[0]


defvjp_joint(running.logcumsumexp_backward, as_composite(logcumsumexp_slope))
no_vjp("its outputs are indices", running.extreme_so_far, running.mode_place)
