"""Sharding rules of flow_core.ops.running: the dim that is walked along is whole, the others split."""

from flow_sbp.rules.dims import names, text
from flow_sbp.signature import Rule


def walk(x, dim, largest=None):
    dims = names(x)
    return Rule(text([dims], [dims]), (), whole=tuple(dims[dim : dim + 1]))


def logcumsumexp_backward(g, x, out, dim):
    dims = names(x)
    return Rule(text([dims] * 3, [dims]), ((0,),), whole=tuple(dims[dim : dim + 1]))


def mode_place(x, dim):
    dims = names(x)
    return Rule(text([dims], [dims[:dim] + dims[dim + 1 :]]), (), whole=tuple(dims[dim : dim + 1]))


RULES = {
    **dict.fromkeys(("cumprod", "extreme_so_far", "logcumsumexp"), walk),
    "logcumsumexp_backward": logcumsumexp_backward,
    "mode_place": mode_place,
}
