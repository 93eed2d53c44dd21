"""Activations: functions of each element."""

import math

import flow_core as flow
from flow_core.dtype import CATEGORIES
from flow_nn.functional.elementwise import (
    COMPLEX,
    FLOAT,
    INT,
    activation,
    as_number_of,
    in_place,
    number,
    outside,
    require_kinds,
)
from flow_nn.functional.geometry import as_type, widened

# Klambauer et al., 1706.02515, equation 14: the fixed point of mean 0 and variance 1.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@activation(INT, FLOAT)
def relu(input, inplace=False):
    """x above 0, else 0; the gradient at 0 is 0."""
    return flow.relu(input)


@activation(INT, FLOAT)
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x between min_val and max_val, else the nearer of them; the gradient is 0 from either on. ValueError if min_val is above max_val."""
    low, high = number("hardtanh", "min_val", min_val), number("hardtanh", "max_val", max_val)
    if low > high:
        raise ValueError(f"hardtanh: min_val {low} is above max_val {high}")
    low, high = as_number_of(input.dtype, low), as_number_of(input.dtype, high)
    if input.dtype.kind == "u" and low < 0:
        raise TypeError(f"hardtanh: min_val {low} cannot be stored in {input.spec}")
    return outside(input, low, high, low, high)


@activation(INT, FLOAT)
def relu6(input, inplace=False):
    """x between 0 and 6, else the nearer of them; the gradient is 0 from either on."""
    return outside(input, 0, 6, 0, 6)


def exponential_below(x, alpha, rate=1.0):
    """x above 0, alpha * (exp(rate * x) - 1) elsewhere."""
    above = x > 0
    # Where x is above 0 the exponential is taken of 0, that it may not overflow and its gradient be NaN.
    return flow.where(above, x, flow.expm1(flow.where(above, 0.0, x) * rate) * alpha)


@activation(FLOAT)
def elu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x) - 1) elsewhere. Clevert, Unterthiner and Hochreiter, 1511.07289."""
    return exponential_below(input, number("elu", "alpha", alpha))


@activation(FLOAT)
def selu(input, inplace=False):
    """scale * elu(x, alpha) with the constants that keep mean 0 and variance 1. Klambauer et al., 1706.02515."""
    return exponential_below(input, SELU_ALPHA) * SELU_SCALE


@activation(FLOAT)
def celu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x / alpha) - 1) elsewhere (Barron, 1704.07483). ValueError for alpha 0."""
    alpha = number("celu", "alpha", alpha)
    if alpha == 0:
        raise ValueError("celu: alpha is 0, expected another number")
    return exponential_below(input, alpha, 1 / alpha)


@activation(FLOAT)
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, negative_slope * x elsewhere."""
    return flow.where(input > 0, input, input * number("leaky_relu", "negative_slope", negative_slope))


def prelu(input, weight):
    """x above 0, weight * x elsewhere: one weight, or one for each channel (dim 1). He et al., 1502.01852.

    ValueError for weights of two dims, or of a number that is not that of channels; TypeError for another dtype than input's.
    """
    require_kinds("prelu", input, (FLOAT,))
    require_kinds("prelu", weight, (FLOAT,))
    if weight.dtype is not input.dtype:
        raise TypeError(f"prelu: weight {weight.spec} must have the dtype of input {input.spec}")
    if weight.ndim > 1:
        raise ValueError(f"prelu: weight is {weight.spec}, expected a number or a vector")
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.spec.size != 1 and (not input.ndim or weight.spec.size != channels):
        raise ValueError(
            f"prelu: weight {weight.spec} must have one element, or one for each of the channels of {input.spec}"
        )
    x, weight = widened(input), widened(weight)
    if weight.ndim:
        shape = (weight.shape[0], *[1] * (x.ndim - 2)) if x.ndim > 1 else (1,) * x.ndim
        weight = flow.reshape(weight, shape=shape)
    return as_type(flow.where(x > 0, x, x * weight), input.dtype)


@activation(FLOAT)
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x above 0, slope * x elsewhere: in training each element's slope is drawn evenly from [lower, upper), else it is their mean.

    Xu et al., 1505.00853. ValueError for bounds that are no finite interval.
    """
    lower, upper = number("rrelu", "lower", lower), number("rrelu", "upper", upper)
    if not (lower <= upper and math.isfinite(lower) and math.isfinite(upper)):
        raise ValueError(f"rrelu: lower {lower} and upper {upper} are no finite interval")
    if not training:
        return flow.where(input > 0, input, input * ((lower + upper) / 2))
    slopes = flow.rand(input.shape, dtype=input.dtype) * (upper - lower) + lower
    return flow.where(input > 0, input, input * slopes)


@activation(INT, FLOAT)
def threshold(input, threshold, value, inplace=False):
    """x above `threshold`, else `value`; of x's dtype, for integers both without their fractions."""
    threshold = as_number_of(input.dtype, number("threshold", "threshold", threshold))
    value = as_number_of(input.dtype, number("threshold", "value", value))
    return flow.where(input <= threshold, value, input)


@activation(FLOAT)
def hardshrink(input, lambd=0.5):
    """x where it is outside [-lambd, lambd], else 0."""
    lambd = number("hardshrink", "lambd", lambd)
    return flow.where(flow.logical_and(input >= -lambd, input <= lambd), 0.0, input)


@activation(FLOAT)
def softshrink(input, lambd=0.5):
    """x moved by lambd towards 0, and 0 where it is nearer. ValueError for a lambd below 0."""
    lambd = number("softshrink", "lambd", lambd)
    if not 0 <= lambd < math.inf:
        raise ValueError(f"softshrink: lambd is {lambd}, expected a number of 0 or more")
    # x - x, not 0: NaN stays NaN.
    return flow.where(input > lambd, input - lambd, flow.where(input < -lambd, input + lambd, input - input))


@activation(INT, FLOAT, COMPLEX)
def tanhshrink(input):
    """x - tanh(x)."""
    return input - flow.tanh(input)


@activation(INT, FLOAT, COMPLEX)
def softsign(input):
    """x / (1 + |x|)."""
    return input / (flow.abs(input) + 1)


def gelu(input, *, approximate="none"):
    """x Phi(x), with Phi the normal distribution function; "tanh" takes the approximation of Hendrycks and Gimpel, 1606.08415."""
    return flow.gelu(input, approximate=approximate)


def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return flow.sigmoid(input)


def tanh(input):
    """The hyperbolic tangent of x."""
    return flow.tanh(input)


@activation(FLOAT, COMPLEX)
def silu(input, inplace=False):
    """x sigmoid(x). Elfwing, Uchibe and Doya, 1702.03118."""
    if CATEGORIES[input.dtype] == COMPLEX:
        return input / (flow.exp(-input) + 1)
    return input * flow.sigmoid(input)


@activation(FLOAT)
def mish(input, inplace=False):
    """x tanh(softplus(x)). Misra, 1908.08681."""
    return input * flow.tanh(flow.softplus(input))


@activation(FLOAT)
def hardswish(input, inplace=False):
    """0 up to -3, x from 3 on, x (x + 3) / 6 between them. Howard et al., 1905.02244."""
    x = flow.clamp(input, -3, 3)  # what is not taken must be finite: 0 * inf would be its gradient
    return flow.where(input <= -3, 0.0, flow.where(input >= 3, input, x * (x + 3) / 6))


@activation(FLOAT)
def hardsigmoid(input, inplace=False):
    """0 up to -3, 1 from 3 on, (x + 3) / 6 between them."""
    return flow.where(input <= -3, 0.0, flow.where(input >= 3, 1.0, (input + 3) / 6))


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta, and x itself where beta x > threshold."""
    return flow.softplus(input, beta=beta, threshold=threshold)


def logsigmoid(input):
    """log(sigmoid(x)), exact also far from 0."""
    return -flow.softplus(-input, beta=1.0, threshold=math.inf)


relu_, elu_, selu_, celu_, leaky_relu_ = [in_place(f) for f in (relu, elu, selu, celu, leaky_relu)]
rrelu_, threshold_, hardtanh_ = [in_place(f) for f in (rrelu, threshold, hardtanh)]

__all__ = """relu relu_ hardtanh hardtanh_ relu6 elu elu_ selu selu_ celu celu_ leaky_relu leaky_relu_ prelu rrelu rrelu_
threshold threshold_ hardshrink softshrink tanhshrink softsign gelu sigmoid tanh silu mish hardswish hardsigmoid
softplus logsigmoid""".split()
