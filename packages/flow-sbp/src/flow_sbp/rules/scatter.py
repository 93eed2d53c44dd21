"""Sharding rules of scattering along one dim: that dim is whole, those in which the index is as large as the tensor are split."""

from flow_sbp.rules.along import beside
from flow_sbp.rules.dims import text
from flow_sbp.signature import Rule


def scattered(x, index, dim, linear):
    dims, places, whole = beside(x.shape, index.shape, dim)
    return Rule(text([dims, places, places], [dims]), linear, whole=whole)


def put_along(x, src, index, dim):
    return scattered(x, index, dim, ((0, 1),))


def combine_along(x, src, index, dim, reduce):
    return scattered(x, index, dim, ())


RULES = {"put_along": put_along, "combine_along": combine_along}
