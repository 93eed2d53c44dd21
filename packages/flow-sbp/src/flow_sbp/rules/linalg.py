"""Sharding rules of products of matrices: a contracted factor leaves its part of the sum."""

from flow_sbp.signature import Rule

BILINEAR = ((0,), (1,))

_MATMUL = Rule("... m k, ... k n -> ... m n", BILINEAR)
_VECTOR_LEFT = Rule("k, ... k n -> ... n", BILINEAR)
_VECTOR_RIGHT = Rule("... m k, k -> ... m", BILINEAR)
_DOT = Rule("k, k -> ", BILINEAR)


def matmul(left, right):
    """numpy's matmul: vectors have no row (left) or column (right), leading dims broadcast."""
    if len(left) == 1:
        return _DOT if len(right) == 1 else _VECTOR_LEFT
    return _VECTOR_RIGHT if len(right) == 1 else _MATMUL


RULES = {"matmul": matmul}
