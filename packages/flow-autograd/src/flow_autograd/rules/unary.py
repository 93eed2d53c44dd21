"""Derivatives of flow_core.ops.unary."""

import math

import flow_core as flow
from flow_autograd.vjp import defvjp, defvjp_joint, no_vjp
from flow_core.ops import unary

defvjp(unary.acos, lambda g, _out, x: -g * flow.rsqrt(1 - x * x))
defvjp(unary.acosh, lambda g, _out, x: g * flow.rsqrt(x * x - 1))
defvjp(unary.asin, lambda g, _out, x: g * flow.rsqrt(1 - x * x))
defvjp(unary.asinh, lambda g, _out, x: g * flow.rsqrt(x * x + 1))
defvjp(unary.atan, lambda g, _out, x: g / (1 + x * x))
defvjp(unary.atanh, lambda g, _out, x: g / (1 - x * x))
defvjp(unary.cos, lambda g, _out, x: -g * unary.sin(x))
defvjp(unary.cosh, lambda g, _out, x: g * unary.sinh(x))
defvjp(unary.exp2, lambda g, out, _x: g * (out * math.log(2)))
defvjp(unary.expm1, lambda g, out, _x: g * (out + 1))
defvjp(unary.log10, lambda g, _out, x: g / (x * math.log(10)))
defvjp(unary.log1p, lambda g, _out, x: g / (x + 1))
defvjp(unary.log2, lambda g, _out, x: g / (x * math.log(2)))
defvjp(unary.reciprocal, lambda g, out, _x: -g * (out * out))
defvjp(unary.sin, lambda g, _out, x: g * unary.cos(x))
defvjp(unary.sinh, lambda g, _out, x: g * unary.cosh(x))
defvjp(unary.tan, lambda g, out, _x: g * (1 + out * out))
defvjp(unary.erfc, lambda g, _out, x: g * (-2 / math.sqrt(math.pi) * flow.exp(-(x * x))))
defvjp(unary.erfinv, lambda g, out, _x: g * (math.sqrt(math.pi) / 2 * flow.exp(out * out)))
defvjp(unary.lgamma, lambda g, _out, x: g * unary.polygamma(x, n=0))
defvjp(unary.polygamma, lambda g, _out, x, n: g * unary.polygamma(x, n=n + 1))


defvjp(
    unary.softplus,
    lambda g, _out, x, beta, threshold: flow.where(x * beta > threshold, g, g * flow.sigmoid(x * beta)),
)


def flat(g, _out, _x):
    """0: the function is constant between its steps."""
    return flow.zeros_like(g)


defvjp(unary.ceil, flat)
defvjp(unary.floor, flat)
defvjp(unary.trunc, flat)
defvjp(unary.rint, flat)
defvjp(unary.sign, flat)
no_vjp("its outputs are bools", unary.isfinite, unary.isinf, unary.isnan, unary.signbit, unary.logical_not)


def frexp_rule(g, out, _x):
    """The mantissa's g over 2^exponent; the exponent is an integer."""
    if g[0] is None:
        return (None,)
    return (flow.where(out[0] == 0, g[0], g[0] * unary.exp2(flow.cast(-out[1], dtype=_x.dtype))),)


defvjp_joint(unary.frexp, frexp_rule)
