"""Derivatives of flow_core.ops.window: two pairs of linear maps, each the other's adjoint."""

from flow_autograd.vjp import defvjp, no_vjp
from flow_core.ops.window import add_windows, pick, place, put, window_argmax, windows


def windows_rule(g, _out, _x, kernel, **attrs):
    return add_windows(g, size=_x.shape[_x.ndim - len(kernel) :], **attrs)


def add_windows_rule(g, _out, _g, size, **attrs):
    return windows(g, kernel=_g.shape[_g.ndim - len(size) :], **attrs)


defvjp(windows, windows_rule)
defvjp(add_windows, add_windows_rule)
defvjp(pick, lambda g, _out, _x, ids: place(g, ids, n=_x.shape[-1]), None)
defvjp(place, lambda g, _out, _g, ids, n: pick(g, ids), None)
defvjp(put, lambda g, _out, _x, ids, n: pick(g, ids), None)
no_vjp("its outputs are indices", window_argmax)
