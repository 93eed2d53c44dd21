"""Convolutions of 1 to 3 dims, and the transposed ones, on flow_core's one trilinear form."""

import flow_core as flow
from flow_nn.functional.geometry import batched, ints, unbatched


def check_types(name, x, weight, bias):
    """TypeError for mixed dtypes; under autocast, which sits in the interceptor, the ops below bring floats together."""
    for argument, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.dtype is not x.dtype and not (flow.interceptor.call and t.dtype.kind == x.dtype.kind):
            raise TypeError(f"{name}: {argument} {t.spec} and input {x.spec} must be of one dtype")


def check_channels(name, x, weight, bias, outs, num_dims):
    if weight.ndim != num_dims + 2:
        raise ValueError(f"{name}: weight {weight.spec} must have {num_dims + 2} dims")
    if bias is not None and bias.shape != (outs,):
        raise ValueError(f"{name}: bias {bias.spec} must have the shape ({outs},), one for each output channel")


def add_bias(y, bias):
    """y (batch, channels, *size) with bias (channels,) added."""
    return y if bias is None else y + flow.reshape(bias, shape=(bias.shape[0], *[1] * (y.ndim - 2)))


def pairs(name, padding, kernel, stride, dilation):
    """Padding as a pair (low, high) for each dim. "same" keeps the size: an odd one out goes to the high end."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError(f'{name}: padding "same" needs a stride of 1, not {stride}')
        whole = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple([(n // 2, n - n // 2) for n in whole])
    if isinstance(padding, str):
        raise ValueError(f'{name}: padding is {padding!r}, expected ints, "same" or "valid"')
    return tuple([(p, p) for p in ints(name, "padding", padding, len(kernel), 0)])


def convolve(name, x, weight, bias, stride, padding, dilation, groups, num_dims):
    check_types(name, x, weight, bias)
    check_channels(name, x, weight, bias, weight.shape[0] if weight.ndim else 0, num_dims)
    x, single = batched(name, x, num_dims)
    stride, dilation = ints(name, "stride", stride, num_dims, 1), ints(name, "dilation", dilation, num_dims, 1)
    padding = pairs(name, padding, weight.shape[2:], stride, dilation)
    y = flow.conv(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return unbatched(add_bias(y, bias), single)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """input (batch, channels, size) correlated with weight (out, channels / groups, kernel), plus bias (out,): (batch, out, places).

    `input` may lack the batch. padding is an int, "valid" (none), or "same" (the size stays; stride 1). places = (size + 2 padding -
    dilation (kernel - 1) - 1) // stride + 1. ValueError where nothing fits, TypeError for mixed dtypes.
    """
    return convolve("conv1d", input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """conv1d over height and width: input (batch, channels, height, width), weight (out, channels / groups, *kernel).

    stride, padding and dilation are an int, or one for each of the two dims.
    """
    return convolve("conv2d", input, weight, bias, stride, padding, dilation, groups, 2)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """conv2d with a depth before the height."""
    return convolve("conv3d", input, weight, bias, stride, padding, dilation, groups, 3)


def convolve_transposed(name, x, weight, bias, stride, padding, output_padding, groups, dilation, num_dims):
    check_types(name, x, weight, bias)
    groups_given = groups if isinstance(groups, int) else 1
    outs = weight.shape[1] * groups_given if weight.ndim > 1 else 0
    check_channels(name, x, weight, bias, outs, num_dims)
    x, single = batched(name, x, num_dims)
    if x.shape[1] != weight.shape[0]:
        raise ValueError(
            f"{name}: input {x.spec} must have the {weight.shape[0]} channels of weight {weight.spec} in dim 1"
        )
    stride, dilation = ints(name, "stride", stride, num_dims, 1), ints(name, "dilation", dilation, num_dims, 1)
    padding = ints(name, "padding", padding, num_dims, 0)
    extra = ints(name, "output_padding", output_padding, num_dims, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ValueError(f"{name}: output_padding {extra} must be less than stride {stride} or dilation {dilation}")
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(x.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    )
    if any(n < 1 for n in size):
        raise ValueError(
            f"{name}: input {x.spec} with kernel {weight.shape[2:]} and padding {padding} gives a size of {size}"
        )
    # The extra elements at the high end come out of the padding there, so that as many windows fit as the input has elements.
    ends = tuple([(p, p - e) for p, e in zip(padding, extra, strict=True)])
    y = flow.conv_input(x, weight, size=size, stride=stride, padding=ends, dilation=dilation, groups=groups)
    return unbatched(add_bias(y, bias), single)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of conv1d's linear map: input (batch, channels, size), weight (channels, out / groups, kernel), bias (out,).

    The result is (batch, out, (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1).
    """
    return convolve_transposed(
        "conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation, 1
    )


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """conv_transpose1d over height and width; stride, paddings and dilation are an int, or one for each of the two dims."""
    return convolve_transposed(
        "conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation, 2
    )


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """conv_transpose2d with a depth before the height."""
    return convolve_transposed(
        "conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation, 3
    )


def conv_tbc(input, weight, bias, pad=0):
    """conv1d of input (time, batch, channels) with weight (kernel, channels, out), bias (out,): (time, batch, out)."""
    x, w = flow.permute(input, dims=(1, 2, 0)), flow.permute(weight, dims=(2, 1, 0))
    return flow.permute(conv1d(x, w, bias, padding=pad), dims=(2, 0, 1))


__all__ = [
    *["conv1d", "conv2d", "conv3d", "conv_tbc"],
    *["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"],
]
