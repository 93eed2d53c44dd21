"""Derivatives of flow_core.ops.binary."""

import math

import flow_core as flow
from flow_autograd.vjp import defvjp, no_vjp, unbroadcast
from flow_core.ops import binary, unary


def spec(t):
    """The spec of an argument that may be a plain number, which takes no gradient."""
    return getattr(t, "spec", None)


def squares(x, y):
    return x * x + y * y


def difference(x, y):
    """x - y for the exponents of logaddexp: where both are the same infinity their shares are equal."""
    return flow.where(x == y, 0.0, x - y)


def quotient(x, y, rounded):
    """rounded(x / y), which a remainder's derivative holds constant."""
    return rounded(flow.div(x, y)).detach()


defvjp(
    binary.atan2,
    lambda g, _out, y, x: unbroadcast(g * (x / squares(x, y)), spec(y)),
    lambda g, _out, y, x: unbroadcast(-g * (y / squares(x, y)), spec(x)),
)
defvjp(
    binary.copysign,
    # At 0 the sign that x would need to follow is unknown: 0, as PyTorch has it.
    lambda g, out, x, _y: unbroadcast(g * (unary.sign(x) * unary.sign(out)), spec(x)),
    lambda g, _out, _x, y: unbroadcast(flow.zeros_like(g), spec(y)),
)
defvjp(
    binary.hypot,
    lambda g, out, x, _y: unbroadcast(g * (x / out), spec(x)),
    lambda g, out, _x, y: unbroadcast(g * (y / out), spec(y)),
)
defvjp(
    binary.logaddexp,
    lambda g, _out, x, y: unbroadcast(g * flow.sigmoid(difference(x, y)), spec(x)),
    lambda g, _out, x, y: unbroadcast(g * flow.sigmoid(difference(y, x)), spec(y)),
)
defvjp(
    binary.logaddexp2,
    lambda g, _out, x, y: unbroadcast(g * flow.sigmoid(difference(x, y) * math.log(2)), spec(x)),
    lambda g, _out, x, y: unbroadcast(g * flow.sigmoid(difference(y, x) * math.log(2)), spec(y)),
)


def chosen(g, mine, other, wins):
    """g where this argument was taken: it wins, ties (half of it each), or the other is NaN."""
    both = flow.where(mine == other, 0.5, flow.where(wins, 1.0, 0.0))
    return g * flow.where(isnan(other), 1.0, both)


def isnan(x):
    return x != x


defvjp(
    binary.fmax,
    lambda g, _out, x, y: unbroadcast(chosen(g, x, y, x > y), spec(x)),
    lambda g, _out, x, y: unbroadcast(chosen(g, y, x, y > x), spec(y)),
)
defvjp(
    binary.fmin,
    lambda g, _out, x, y: unbroadcast(chosen(g, x, y, x < y), spec(x)),
    lambda g, _out, x, y: unbroadcast(chosen(g, y, x, y < x), spec(y)),
)
defvjp(
    binary.fmod,
    lambda g, _out, x, _y: unbroadcast(g, spec(x)),
    lambda g, _out, x, y: unbroadcast(-g * quotient(x, y, unary.trunc), spec(y)),
)
defvjp(
    binary.remainder,
    lambda g, _out, x, _y: unbroadcast(g, spec(x)),
    lambda g, _out, x, y: unbroadcast(-g * quotient(x, y, unary.floor), spec(y)),
)
defvjp(
    binary.floor_divide,
    lambda g, _out, x, _y: unbroadcast(flow.zeros_like(g), spec(x)),
    lambda g, _out, _x, y: unbroadcast(flow.zeros_like(g), spec(y)),
)


def bounded_log(x):
    return flow.clamp(flow.log(x), min=-100)


defvjp(
    binary.binary_cross_entropy,
    # As in PyTorch no slope is steeper than 1e12, at 0 and 1 neither.
    lambda g, _out, x, y: unbroadcast(g * ((x - y) / flow.clamp(x * (1 - x), min=1e-12)), spec(x)),
    lambda g, _out, x, y: unbroadcast(g * (bounded_log(1 - x) - bounded_log(x)), spec(y)),
)
no_vjp("its outputs are bools", binary.logical_and, binary.logical_or, binary.logical_xor)
no_vjp(
    "it takes bools and integers, which have no gradient",
    binary.bitwise_and,
    binary.bitwise_or,
    binary.bitwise_xor,
    binary.bitwise_left_shift,
    binary.bitwise_right_shift,
    binary.gcd,
    binary.lcm,
)
no_vjp("its results are one unit of rounding away, and PyTorch has none", binary.nextafter)
