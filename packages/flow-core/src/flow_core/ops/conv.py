"""Convolution of any number of dims. One trilinear form, sum of y[t] w[k] x[t * stride + k * dilation - low], gives three ops: each is
what is left when one of the three is taken out, and so the gradient of the other two.

By im2col (Chellapilla, Puri and Simard, "High performance convolutional neural networks for document processing", 2006): windows of
the padded input, and one matrix product a group. 16-bit floats are multiplied in float32 and rounded once.
"""

from itertools import product

import numpy as np

from flow_core.op import Checked, define
from flow_core.ops.linalg import multiplied, product_dtype
from flow_core.spec import TensorSpec, as_count, as_shape, num_elements


def num_windows(size, kernel, stride, padding, dilation):
    """How many windows lie in a padded dim."""
    return (size + padding[0] + padding[1] - dilation * (kernel - 1) - 1) // stride + 1


def as_padding(name, padding, num_dims):
    """`padding` as a tuple of (low, high) pairs of ints, one a dim; a negative one cuts."""
    fits = isinstance(padding, tuple) and len(padding) == num_dims
    if not fits or any(not isinstance(p, tuple) or [type(n) for n in p] != [int, int] for p in padding):
        raise TypeError(f"{name}: padding {padding!r} is not {num_dims} pairs of ints (low, high)")
    return padding


def as_steps(name, argument, steps, num_dims):
    """`steps` as a tuple of ints above 0, one a dim."""
    steps = as_shape(name, steps)
    if len(steps) != num_dims or 0 in steps:
        raise ValueError(f"{name}: {argument} {steps} is not {num_dims} ints above 0")
    return steps


def pads(array, padding, value=0):
    """The array with its last dims padded by (low, high) pairs, or cut where those are negative."""
    lead = array.ndim - len(padding)
    if any(n < 0 for pair in padding for n in pair):
        cut = [
            slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(array.shape[lead:], padding, strict=True)
        ]
        array = array[(..., *cut)]
    grown = [(max(low, 0), max(high, 0)) for low, high in padding]
    if not any(n for pair in grown for n in pair):
        return array
    return np.pad(array, [(0, 0)] * lead + grown, constant_values=value)


def windows_of(array, kernel, stride, dilation):
    """A read-only view (*lead, *places, *kernel) of the windows of the array's last dims."""
    n = len(kernel)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(array, spans, axis=tuple(range(array.ndim - n, array.ndim)))
    return view[(..., *[slice(None, None, s) for s in stride], *[slice(None, None, d) for d in dilation])]


def add_back(windows, size, stride, padding, dilation):
    """The adjoint of padding and windows_of: windows (*lead, *places, *kernel) added up in an array (*lead, *size)."""
    n = len(size)
    lead, places, kernel = windows.shape[: -2 * n], windows.shape[-2 * n : -n], windows.shape[-n:]
    wide = [max(s + max(low, 0) + max(high, 0), 0) for s, (low, high) in zip(size, padding, strict=True)]
    out = np.zeros((*lead, *wide), windows.dtype)
    base = [max(-low, 0) for low, _ in padding]  # where the first window lies, of an input that was cut
    for k in product(*map(range, kernel)):
        place = [
            slice(b + i * d, b + i * d + (t - 1) * s + 1 if t else 0, s)
            for b, i, d, t, s in zip(base, k, dilation, places, stride, strict=True)
        ]
        out[(..., *place)] += windows[(..., *k)]
    return out[(..., *[slice(max(low, 0), max(low, 0) + s) for s, (low, _) in zip(size, padding, strict=True)])]


def columns_of(x, kernel, stride, padding, dilation, groups):
    """im2col: (batch, groups, channels of a group * kernel, places)."""
    n = len(kernel)
    view = windows_of(pads(x, padding), kernel, stride, dilation)  # (batch, channels, *places, *kernel)
    places = view.shape[2 : 2 + n]
    order = (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    rows = x.shape[1] // groups * num_elements(kernel)
    return view.transpose(order).reshape(x.shape[0], groups, rows, num_elements(places))


def conv_kernel(x, weight, /, *, stride, padding, dilation, groups):
    wide, narrow = multiplied(product_dtype("conv", x, weight))
    kernel, outs = weight.shape[2:], weight.shape[0]
    shape = conv.infer(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups).out.shape

    def run(a, w):
        if not num_elements(shape):
            return narrow(np.zeros(shape, wide(w).dtype))
        columns = columns_of(wide(a), kernel, stride, padding, dilation, groups)
        matrix = wide(w).reshape(groups, outs // groups, num_elements(weight.shape[1:]))
        return narrow(np.matmul(matrix, columns).reshape(shape))

    return run


def check_conv(name, x, weight, stride, padding, dilation, groups):
    """The attributes in normal form; errors unless an input and a weight of these shapes fit."""
    n = len(x) - 2
    if n < 1 or len(weight) != n + 2:
        raise ValueError(f"{name}: input {x} and weight {weight} must have as many dims, 3 at least")
    groups = as_count(name, "groups", groups)
    if not groups or x[1] % groups or weight[0] % groups or weight[1] * groups != x[1]:
        raise ValueError(
            f"{name}: input {x} of {x[1]} channels and weight {weight} do not fit in {groups} groups: "
            f"weight must be (out, {x[1]} / groups, ...), and groups divide both"
        )
    if 0 in weight[2:]:
        raise ValueError(f"{name}: the kernel of weight {weight} is empty")
    attrs = {
        "stride": as_steps(name, "stride", stride, n),
        "padding": as_padding(name, padding, n),
        "dilation": as_steps(name, "dilation", dilation, n),
        "groups": groups,
    }
    return attrs, places_of(name, x[2:], weight[2:], attrs["stride"], attrs["padding"], attrs["dilation"])


def places_of(name, size, kernel, stride, padding, dilation):
    """The number of windows in each dim; ValueError if one does not hold a kernel."""
    places = tuple(num_windows(*dim) for dim in zip(size, kernel, stride, padding, dilation, strict=True))
    if any(t < 1 for t in places):
        raise ValueError(
            f"{name}: a kernel of {kernel} with dilation {dilation} is larger than the input {size} with padding {padding}"
        )
    return places


@define(conv_kernel, linear=(0, 1))
def conv(x, weight, /, *, stride, padding, dilation, groups=1):
    """The convolution (correlation) of x (batch, channels, *size) with weight (out, channels / groups, *kernel): (batch, out, *places).

    stride and dilation are tuples of an int a dim, padding of a pair (low, high), which cuts where negative. ValueError where no
    kernel fits.
    """
    attrs, places = check_conv("conv", x.shape, weight.shape, stride, padding, dilation, groups)
    return Checked(
        TensorSpec((x.shape[0], weight.shape[0], *places), product_dtype("conv", x, weight), x.device), attrs
    )


def conv_input_kernel(g, weight, /, *, size, stride, padding, dilation, groups):
    wide, narrow = multiplied(product_dtype("conv_input", g, weight))
    kernel, batch, outs = weight.shape[2:], g.shape[0], weight.shape[0]
    n, channels = len(kernel), weight.shape[1] * groups
    places = g.shape[2:]

    def run(a, w):
        if not g.size or not weight.size:
            return narrow(np.zeros((batch, channels, *size), wide(w).dtype))
        matrix = wide(w).reshape(groups, outs // groups, num_elements(weight.shape[1:])).swapaxes(1, 2)
        columns = np.matmul(matrix, wide(a).reshape(batch, groups, outs // groups, num_elements(places)))
        order = (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
        windows = columns.reshape(batch, channels, *kernel, *places).transpose(order)
        return narrow(np.ascontiguousarray(add_back(windows, size, stride, padding, dilation)))

    return run


@define(conv_input_kernel, linear=(0, 1))
def conv_input(g, weight, /, *, size, stride, padding, dilation, groups=1):
    """conv's gradient for its input, (batch, channels, *size), from that of its output g (batch, out, *places): conv transposed."""
    size = as_shape("conv_input", size)
    if weight.ndim != len(size) + 2:
        raise ValueError(f"conv_input: weight {weight} does not have the dims of size {size} and two more")
    groups = as_count("conv_input", "groups", groups)
    x = (g.shape[0] if g.ndim else 0, weight.shape[1] * groups, *size)
    attrs, places = check_conv("conv_input", x, weight.shape, stride, padding, dilation, groups)
    require_output("conv_input", g, (x[0], weight.shape[0], *places))
    return Checked(TensorSpec(x, product_dtype("conv_input", g, weight), g.device), {"size": size, **attrs})


def require_output(name, g, shape):
    if g.shape != shape:
        raise ValueError(f"{name}: g is {g}, expected the output's shape {shape}")


def conv_weight_kernel(g, x, /, *, size, stride, padding, dilation, groups):
    wide, narrow = multiplied(product_dtype("conv_weight", g, x))
    batch, outs = g.shape[:2]
    shape = (outs, x.shape[1] // groups, *size)

    def run(a, b):
        if not g.size or not x.size:
            return narrow(np.zeros(shape, wide(a).dtype))
        columns = columns_of(wide(b), size, stride, padding, dilation, groups)  # (batch, groups, rows, places)
        rows, places = columns.shape[2:]
        left = wide(a).reshape(batch, groups, outs // groups, places)
        if outs // groups <= places:  # a product for each example, of which there are fewer elements than columns
            return narrow(np.matmul(left, columns.swapaxes(2, 3)).sum(0).reshape(shape))
        left = left.transpose(1, 2, 0, 3).reshape(groups, outs // groups, batch * places)
        right = columns.transpose(1, 0, 3, 2).reshape(groups, batch * places, rows)
        return narrow(np.matmul(left, right).reshape(shape))

    return run


@define(conv_weight_kernel, linear=(0, 1))
def conv_weight(g, x, /, *, size, stride, padding, dilation, groups=1):
    """conv's gradient for its weight, (out, channels / groups, *size), from that of its output g and its input x."""
    size = as_shape("conv_weight", size)
    if x.ndim < 3 or g.ndim != x.ndim or len(size) != x.ndim - 2:
        raise ValueError(f"conv_weight: g {g} and x {x} must have the dims of size {size} and two more")
    groups = as_count("conv_weight", "groups", groups)
    weight = (g.shape[1], x.shape[1] // max(groups, 1), *size)
    attrs, places = check_conv("conv_weight", x.shape, weight, stride, padding, dilation, groups)
    require_output("conv_weight", g, (x.shape[0], weight[0], *places))
    return Checked(TensorSpec(weight, product_dtype("conv_weight", g, x), x.device), {"size": size, **attrs})
