"""Sharding rules of convolutions: the batch splits; of one group, so do the channels of either side. The dims of the windows are whole."""

from flow_sbp.rules.dims import text
from flow_sbp.signature import Rule

BOTH = ((0,), (1,))


def form(x, groups):
    """(factors of the output, the input and the weight; those no axis splits): places, size and kernel have factors of their own."""
    n = len(x.shape) - 2
    places, size, kernel = ([f"{letter}{i}" for i in range(n)] for letter in "tsk")
    inner = "c" if groups == 1 else "w"
    parts = ["n", "o", *places], ["n", "c", *size], ["o", inner, *kernel]
    return parts, (*places, *size, *kernel, *(("o", "c", "w") if groups > 1 else ()))


def given(inputs, whole):
    """Those of the factors that the inputs have."""
    return tuple(name for name in whole if any(name in dims for dims in inputs))


def conv(x, weight, stride, padding, dilation, groups):
    (y, x_dims, w_dims), whole = form(x, groups)
    places = [
        (s + low + high - d * (k - 1) - 1) // step + 1
        for s, k, step, (low, high), d in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    ]
    fresh = tuple(zip(y[2:], places, strict=True))
    return Rule(text([x_dims, w_dims], [y]), BOTH, whole=given([x_dims, w_dims], whole), fresh=fresh)


def conv_input(g, weight, size, stride, padding, dilation, groups):
    (y, x_dims, w_dims), whole = form(g, groups)
    fresh = tuple(zip(x_dims[2:], size, strict=True))
    if groups > 1:
        fresh += (("c", weight.shape[1] * groups),)
    return Rule(text([y, w_dims], [x_dims]), BOTH, whole=given([y, w_dims], whole), fresh=fresh)


def conv_weight(g, x, size, stride, padding, dilation, groups):
    (y, x_dims, w_dims), whole = form(g, groups)
    fresh = tuple(zip(w_dims[2:], size, strict=True))
    if groups > 1:
        fresh += (("w", x.shape[1] // groups),)
    return Rule(text([y, x_dims], [w_dims]), BOTH, whole=given([y, x_dims], whole), fresh=fresh)


RULES = {"conv": conv, "conv_input": conv_input, "conv_weight": conv_weight}
