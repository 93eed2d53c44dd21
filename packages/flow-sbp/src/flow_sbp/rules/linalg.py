"""Sharding rules of products of matrices: a contracted factor leaves its part of the sum."""

from flow_sbp.rules.dims import text
from flow_sbp.signature import Rule

BILINEAR = ((0,), (1,))

_MATMUL = Rule("... m k, ... k n -> ... m n", BILINEAR)
_VECTOR_LEFT = Rule("k, ... k n -> ... n", BILINEAR)
_VECTOR_RIGHT = Rule("... m k, k -> ... m", BILINEAR)
_DOT = Rule("k, k -> ", BILINEAR)


def matmul(left, right):
    """numpy's matmul: vectors have no row (left) or column (right), leading dims broadcast."""
    if len(left.shape) == 1:
        return _DOT if len(right.shape) == 1 else _VECTOR_LEFT
    return _VECTOR_RIGHT if len(right.shape) == 1 else _MATMUL


def linear(x, weight, bias, num_in):
    """rows r, outputs o, inputs k: x (r, k), weight (o, k), bias (o) to (r, o)."""
    r, o, k = parts(len(x.shape) - num_in, len(weight.shape) - num_in, num_in)
    if bias is None:
        return Rule(text([r + k, o + k], [r + o]), BILINEAR)
    return Rule(text([r + k, o + k, o], [r + o]), ((0, 2), (1, 2)), added=(2,))


def linear_input(g, weight, num_in):
    num_out = len(weight.shape) - num_in
    r, o, k = parts(len(g.shape) - num_out, num_out, num_in)
    return Rule(text([r + o, o + k], [r + k]), BILINEAR)


def linear_weight(g, x, num_in):
    lead = len(x.shape) - num_in
    r, o, k = parts(lead, len(g.shape) - lead, num_in)
    return Rule(text([r + o, r + k], [o + k]), BILINEAR)


def parts(*counts):
    return [[f"{letter}{i}" for i in range(n)] for letter, n in zip("rok", counts, strict=True)]


RULES = {"matmul": matmul, "linear": linear, "linear_input": linear_input, "linear_weight": linear_weight}
