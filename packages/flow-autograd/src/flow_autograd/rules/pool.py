"""Derivatives of flow_core.ops.pool: a pair of linear maps, each the other's adjoint."""

from flow_autograd.vjp import defvjp
from flow_core.ops.pool import spread_windows, window_sum


def window_sum_rule(g, _out, _x, kernel, **attrs):
    return spread_windows(g, size=_x.shape[_x.ndim - len(kernel) :], kernel=kernel, **attrs)


defvjp(window_sum, window_sum_rule)
defvjp(spread_windows, lambda g, _out, _g, size, **attrs: window_sum(g, **attrs))
