"""Sharding rules of ops along one dim: that dim is whole, the others split."""

from flow_sbp.rules.dims import local_shape, names, text
from flow_sbp.signature import Rule

FIRST = ((0,),)


def running(x, dim, linear):
    dims = names(x)
    return Rule(text([dims], [dims]), linear, whole=tuple(dims[dim : dim + 1]))


def cumsum(x, dim):
    return running(x, dim, FIRST)


def argsort(x, dim, descending):
    return running(x, dim, ())


def gather(x, index, dim):
    """A dim in which the index is smaller than x takes x's beginning: it is whole too."""
    dims, places, whole = beside(x.shape, index.shape, dim)
    return Rule(text([dims, places], [places]), FIRST, whole=whole)


def add_along(g, index, dim, shape):
    dims, places, whole = beside(shape, index.shape, dim)
    sizes = tuple((name, n) for name, n in zip(dims, shape, strict=True) if name not in places)
    return Rule(
        text([places, places], [dims]), FIRST, whole=tuple(name for name in whole if name in places), fresh=sizes
    )


def beside(shape, index, dim):
    """(factors of the tensor, of the index, those no axis splits): dims of equal size share a factor, but for the one indexed."""
    dims, places, whole = [], [], []
    for d, (n, i) in enumerate(zip(shape, index, strict=True)):
        shared = d != dim and n == i
        dims.append(f"d{d}")
        places.append(f"d{d}" if shared else f"i{d}")
        whole += [] if shared else [f"d{d}", f"i{d}"]
    return dims, places, tuple(whole)


RULES = {"cumsum": cumsum, "argsort": argsort, "gather": gather, "add_along": add_along}
LOCAL = {"add_along": local_shape}
