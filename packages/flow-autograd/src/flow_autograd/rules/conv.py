"""Derivatives of flow_core.ops.conv: one trilinear form, whose three ops are each others' derivatives."""

from flow_autograd.vjp import defvjp, unbroadcast
from flow_core.ops.conv import conv, conv_input, conv_weight


def size(spec):
    """The sizes of the dims that a convolution runs over."""
    return spec.shape[2:]


defvjp(
    conv,
    lambda g, _out, _x, weight, **attrs: unbroadcast(conv_input(g, weight, size=size(_x), **attrs), _x),
    lambda g, _out, x, _weight, **attrs: unbroadcast(conv_weight(g, x, size=size(_weight), **attrs), _weight),
)
defvjp(
    conv_input,
    lambda g, _out, _g, weight, size, **attrs: unbroadcast(conv(g, weight, **attrs), _g),
    lambda g, _out, grad, _weight, **attrs: unbroadcast(
        conv_weight(grad, g, **{**attrs, "size": size(_weight)}), _weight
    ),
)
defvjp(
    conv_weight,
    lambda g, _out, _g, x, size, **attrs: unbroadcast(conv(x, g, **attrs), _g),
    lambda g, _out, grad, _x, **attrs: unbroadcast(conv_input(grad, g, **{**attrs, "size": size(_x)}), _x),
)
