"""Sharding rules of ops that take diagonals: the dims beside those of the matrices can be split."""

from flow_sbp.rules.dims import local_shape, text
from flow_sbp.signature import Rule

LINEAR = ((0,),)


def matrices(ndim, dim1, dim2):
    """The factors of a tensor's dims, and those beside dim1 and dim2."""
    dims = [f"d{i}" for i in range(ndim)]
    return dims, [name for i, name in enumerate(dims) if i not in (dim1, dim2)]


def diagonal(x, offset, dim1, dim2):
    dims, others = matrices(len(x.shape), dim1, dim2)
    rows, columns = x.shape[dim1], x.shape[dim2]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    return Rule(text([dims], [[*others, "n"]]), LINEAR, whole=(dims[dim1], dims[dim2]), fresh=(("n", count),))


def place_diagonal(v, shape, offset, dim1, dim2):
    dims, others = matrices(len(shape), dim1, dim2)
    fresh = tuple((dims[d], shape[d]) for d in (dim1, dim2))
    return Rule(text([[*others, "n"]], [dims]), LINEAR, whole=("n",), fresh=fresh)


RULES = {"diagonal": diagonal, "place_diagonal": place_diagonal}
LOCAL = {"place_diagonal": local_shape}
