"""Derivatives of flow_core.ops.elementwise."""

import math

import flow_core as flow
from flow_autograd.vjp import defvjp, no_vjp, unbroadcast

defvjp(flow.add, lambda g, _out, _x, _y: unbroadcast(g, _x), lambda g, _out, _x, _y: unbroadcast(g, _y))
defvjp(flow.sub, lambda g, _out, _x, _y: unbroadcast(g, _x), lambda g, _out, _x, _y: unbroadcast(flow.neg(g), _y))
defvjp(
    flow.mul,
    lambda g, _out, _x, y: unbroadcast(flow.mul(g, y), _x),
    lambda g, _out, x, _y: unbroadcast(flow.mul(g, x), _y),
)
defvjp(
    flow.div, lambda g, _out, _x, y: unbroadcast(g / y, _x), lambda g, _out, x, y: unbroadcast(-g * x / (y * y), y.spec)
)


def pow_base(g, _out, x, y):
    """y x^(y-1), which is 0 where y is 0, whatever x."""
    if isinstance(y, (int, float)):
        return flow.zeros_like(x) if y == 0 else unbroadcast(g * (y * x ** (y - 1)), x.spec)
    slope = flow.where(y == 0, 0.0, y * x ** flow.where(y == 0, 1.0, y - 1))
    return unbroadcast(g * slope, x.spec)


def pow_exponent(g, out, x, y):
    """x^y log x, taken as 0 where x is 0 and y is not negative."""
    logs = (
        flow.log(flow.where(x == 0, 1.0, x))
        if hasattr(x, "spec")
        else (math.log(x) if x > 0 else (0.0 if x == 0 else math.nan))
    )
    return unbroadcast(g * (out * logs), y.spec)


def share(g, larger, smaller):
    """g where `larger` is the larger, half of it where they tie, 0 elsewhere."""
    return flow.where(larger > smaller, g, flow.where(larger == smaller, g / 2, 0.0))


defvjp(flow.pow, pow_base, pow_exponent)
defvjp(
    flow.maximum,
    lambda g, _out, x, y: unbroadcast(share(g, x, y), x.spec),
    lambda g, _out, x, y: unbroadcast(share(g, y, x), y.spec),
)
defvjp(
    flow.minimum,
    lambda g, _out, x, y: unbroadcast(share(g, y, x), x.spec),
    lambda g, _out, x, y: unbroadcast(share(g, x, y), y.spec),
)
defvjp(flow.neg, lambda g, _out, _x: -g)


def abs_rule(g, _out, x):
    if x.dtype.kind == "c":
        return g * flow.sgn(x)
    return flow.where(x > 0, g, flow.where(x < 0, -g, 0.0))


defvjp(flow.abs, abs_rule)
defvjp(flow.exp, lambda g, out, _x: g * out)
defvjp(flow.log, lambda g, _out, x: g / x)
defvjp(flow.sqrt, lambda g, out, _x: g / (2 * out))
defvjp(flow.rsqrt, lambda g, out, _x: g * (-0.5 * (out * out * out)))
defvjp(flow.tanh, lambda g, out, _x: g * (1 - out * out))
defvjp(flow.sigmoid, lambda g, out, _x: g * (out * (1 - out)))
defvjp(flow.erf, lambda g, _out, x: g * (2 / math.sqrt(math.pi) * flow.exp(-(x * x))))
# Numbers without a fraction have no gradient.
defvjp(
    flow.cast,
    lambda g, _out, _x, dtype: flow.cast(g if _x.dtype.kind == "c" else flow.real(g), dtype=_x.dtype),
    skips=lambda attrs: attrs["dtype"].kind in "biu",
)
defvjp(
    flow.where,
    None,
    lambda g, _out, condition, _x, _y: unbroadcast(flow.where(condition, g, 0.0), _x),
    lambda g, _out, condition, _x, _y: unbroadcast(flow.where(condition, 0.0, g), _y),
)
no_vjp("its outputs are bools", flow.eq, flow.ne, flow.lt, flow.le, flow.gt, flow.ge)
