"""Derivatives of flow_core.ops.scatter."""

import flow_core as flow
from flow_autograd.vjp import defvjp, defvjp_joint, no_vjp, unbroadcast
from flow_core.ops import along, scatter
from flow_core.spec import num_elements


def at_rule(g, _out, _x, *ids, dims):
    return scatter.add_to(g, *ids, dims=dims, shape=_x.shape), *[None] * len(ids)


def add_to_rule(g, _out, _g, *ids, dims, shape):
    return scatter.at(g, *ids, dims=dims), *[None] * len(ids)


def put_at_rule(g, _out, _x, _src, *ids, dims):
    """What was overwritten has no gradient, be it x's or a value before the last of equal places."""
    values = scatter.at(g, *ids, dims=dims)
    order = numbered(values.shape)
    last = scatter.at(scatter.put_at(numbered(_x.shape), order, *ids, dims=dims), *ids, dims=dims) == order
    left = scatter.put_at(g, flow.zeros_like(values), *ids, dims=dims)
    return left, unbroadcast(flow.where(last, values, 0.0), _src), *[None] * len(ids)


def numbered(shape):
    """The int64 places in a tensor of `shape`, in row-major order."""
    return flow.reshape(flow.arange(num_elements(shape)), shape=shape)


def put_along_x(g, _out, _x, _src, index, dim):
    return scatter.put_along(g, flow.zeros_like(along.gather(g, index, dim=dim)), index, dim=dim)


def put_along_src(g, _out, _x, _src, index, dim):
    """As in put_at_rule; elements that meet in a place differ along `dim` alone, so their number there tells them apart."""
    order = along.cumsum(flow.ones_like(index), dim=dim)
    placed = scatter.put_along(flow.full_like(g, 0, dtype=flow.int64), order, index, dim=dim)
    last = along.gather(placed, index, dim=dim) == order
    return flow.where(last, along.gather(g, index, dim=dim), 0.0)


def combine_rule(g, out, x, src, index, dim, reduce):
    return *(products if reduce == "prod" else extremes)(g, out, x, src, index, dim), None


def extremes(g, out, x, src, index, dim):
    """The gradient shared evenly by those that are equal to the result."""
    mine, theirs = x == out, src == along.gather(out, index, dim=dim)
    count = flow.cast(mine, dtype=g.dtype) + summed(flow.cast(theirs, dtype=g.dtype), index, dim, x)
    share = g / flow.maximum(count, 1.0)
    return flow.cast(mine, dtype=g.dtype) * share, flow.cast(theirs, dtype=g.dtype) * along.gather(
        share, index, dim=dim
    )


def summed(src, index, dim, x):
    return along.add_along(src, index, dim=dim, shape=x.shape)


def products(g, out, x, src, index, dim):
    """The gradient times the product of the other factors, right beside zeros too, to second order.

    P is the product of the factors that are not 0, Z the sum of those that are: 0, but with derivative 1. Where one factor is 0, the
    product of the others is P for it and P Z / factor for another; where two are, it is P (Z - factor) for them, and Z^2 / 2 would
    stand beside a third, whose derivatives of second order are 0.
    """
    zero_x, zero_src = x == 0, src == 0
    kept_x, kept_src = flow.where(zero_x, 1.0, x), flow.where(zero_src, 1.0, src)
    p = scatter.combine_along(kept_x, kept_src, index, dim=dim, reduce="prod")
    z = flow.where(zero_x, x, 0.0) + summed(flow.where(zero_src, src, 0.0), index, dim, x)
    num = flow.cast(zero_x, dtype=g.dtype) + summed(flow.cast(zero_src, dtype=g.dtype), index, dim, x)

    def others(factor, kept, zero, p, z, num):
        of_zero = p * flow.where(num == 1, 1.0, flow.where(num == 2, z - factor, 0.0))
        of_kept = p / kept * flow.where(num == 0, 1.0, flow.where(num == 1, z, 0.0))
        return flow.where(zero, of_zero, of_kept)

    there = [along.gather(t, index, dim=dim) for t in (p, z, num)]
    g_src = along.gather(g, index, dim=dim)
    return g * others(x, kept_x, zero_x, p, z, num), g_src * others(src, kept_src, zero_src, *there)


defvjp_joint(scatter.at, at_rule)
defvjp_joint(scatter.add_to, add_to_rule)
defvjp_joint(scatter.put_at, put_at_rule)
defvjp(scatter.put_along, put_along_x, put_along_src, None)
defvjp_joint(scatter.combine_along, combine_rule)
no_vjp("it overwrites its argument and returns nothing", scatter.put_at_)
