"""Sharding rules of sums over windows: the leading dims split, those that are windowed are whole."""

from flow_sbp.rules.dims import names, text
from flow_sbp.rules.window import FIRST, fresh_names, places_of
from flow_sbp.signature import Rule


def window_sum(x, kernel, stride, padding, dilation):
    dims = names(x)
    lead, over = dims[: len(dims) - len(kernel)], dims[len(dims) - len(kernel) :]
    fresh = fresh_names("t", places_of(x, kernel, stride, padding, dilation))
    return Rule(text([dims], [[*lead, *[n for n, _ in fresh]]]), FIRST, whole=tuple(over), fresh=fresh)


def spread_windows(g, size, kernel, stride, padding, dilation):
    dims = names(g)
    lead, over = dims[: len(dims) - len(size)], dims[len(dims) - len(size) :]
    fresh = fresh_names("s", size)
    return Rule(text([dims], [[*lead, *[n for n, _ in fresh]]]), FIRST, whole=tuple(over), fresh=fresh)


RULES = {"window_sum": window_sum, "spread_windows": spread_windows}
