"""Sharding rules of windows and of picking by place: the leading dims split, those that are windowed or indexed are whole."""

from flow_sbp.rules.dims import names, text
from flow_sbp.signature import Rule

FIRST = ((0,),)


def places_of(x, kernel, stride, padding, dilation):
    size = x.shape[len(x.shape) - len(kernel) :]
    return [
        (s + low + high - d * (k - 1) - 1) // step + 1
        for s, k, step, (low, high), d in zip(size, kernel, stride, padding, dilation, strict=True)
    ]


def fresh_names(letter, sizes):
    return tuple((f"{letter}{i}", n) for i, n in enumerate(sizes))


def windows(x, kernel, stride, padding, dilation):
    dims = names(x)
    lead, over = dims[: len(dims) - len(kernel)], dims[len(dims) - len(kernel) :]
    fresh = fresh_names("t", places_of(x, kernel, stride, padding, dilation)) + fresh_names("k", kernel)
    return Rule(text([dims], [[*lead, *[n for n, _ in fresh]]]), FIRST, whole=tuple(over), fresh=fresh)


def add_windows(g, size, stride, padding, dilation):
    dims = names(g)
    lead, over = dims[: len(dims) - 2 * len(size)], dims[len(dims) - 2 * len(size) :]
    fresh = fresh_names("s", size)
    return Rule(text([dims], [[*lead, *[n for n, _ in fresh]]]), FIRST, whole=tuple(over), fresh=fresh)


def window_argmax(x, kernel, stride, padding, dilation):
    dims = names(x)
    lead, over = dims[: len(dims) - len(kernel)], dims[len(dims) - len(kernel) :]
    fresh = fresh_names("t", places_of(x, kernel, stride, padding, dilation))
    return Rule(text([dims], [[*lead, *[n for n, _ in fresh]]]), whole=tuple(over), fresh=fresh)


def indexed(x, ids):
    """(factors of x, of the ids): a leading dim in which the ids have size 1 is the same for all."""
    dims = names(x)
    lead = len(dims) - len(ids.shape)
    own = [dims[lead + d] if n == x.shape[lead + d] and n != 1 else "1" for d, n in enumerate(ids.shape[:-1])]
    return dims, own


def pick(x, ids):
    dims, own = indexed(x, ids)
    return Rule(text([dims, [*own, "m"]], [[*dims[:-1], "m"]]), FIRST, whole=(dims[-1],))


def place(g, ids, n):
    dims, own = indexed(g, ids)
    return Rule(text([dims, [*own, dims[-1]]], [[*dims[:-1], "n"]]), FIRST, fresh=(("n", n),))


def put(x, ids, n):
    dims, own = indexed(x, ids)
    return Rule(text([dims, [*own, dims[-1]]], [[*dims[:-1], "n"]]), FIRST, whole=(dims[-1],), fresh=(("n", n),))


RULES = {
    "windows": windows,
    "add_windows": add_windows,
    "window_argmax": window_argmax,
    "pick": pick,
    "place": place,
    "put": put,
}
