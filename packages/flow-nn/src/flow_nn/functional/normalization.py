"""Normalisation of a tensor by statistics of its own, or kept ones."""

import math

import numpy as np

import flow_core as flow
from flow_core.functions.norms import vector_norm
from flow_nn.functional.geometry import as_type, is_half, require_float, widened
from flow_nn.functional.pool import window_mean


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """input normalised over its last dims, which must be `normalized_shape`, then times weight plus bias, which have that shape."""
    shape = checked_shape("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    if len(shape) > 1:
        weight, bias = (None if t is None else flow.flatten(t) for t in (weight, bias))
        flat = flow.flatten(input, input.ndim - len(shape))
        return flow.reshape(flow.layer_norm(flat, weight, bias, eps=eps)[0], shape=input.shape)
    return flow.layer_norm(input, weight, bias, eps=eps)[0]


def checked_shape(name, x, normalized_shape, **affine):
    """normalized_shape as a tuple; ValueError unless x ends in it and what is affine has it."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[x.ndim - len(shape) :] != shape:
        raise ValueError(f"{name}: normalized_shape {shape} is not the end of the shape of {x.spec}")
    for argument, t in affine.items():
        if t is not None and t.shape != shape:
            raise ValueError(f"{name}: {argument} is {t.spec}, expected the shape {shape}")
    return shape


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """input over the root of its mean square in the last dims, which must be `normalized_shape`, times weight (Zhang and Sennrich,
    1910.07467, equation 4). eps, added to the mean square, is by default that of the dtype."""
    shape = checked_shape("rms_norm", input, normalized_shape, weight=weight)
    if input.dtype.kind in "biu":
        raise TypeError(f"rms_norm: {input.spec} holds integers; cast it to a float type first")
    x = widened(input)
    if eps is None:
        eps = smallest_step(input.dtype)
    mean = flow.mean(x * x, dim=tuple(range(x.ndim - len(shape), x.ndim)), keepdim=True)
    y = x * flow.rsqrt(mean + eps) if x.dtype.kind != "c" else x / flow.sqrt(mean + eps)
    return as_type(y if weight is None else y * widened(weight), input.dtype)


def smallest_step(dtype):
    """The distance from 1 to the next number of a float or complex `dtype`."""
    if dtype is flow.bfloat16:
        return 2.0**-7
    return float(np.finfo(dtype).eps)


def by_channel(t, x):
    """t (channels,) as it broadcasts to x (batch, channels, *size), 16-bit floats in float32."""
    return flow.reshape(widened(t), shape=(t.shape[0], *[1] * (x.ndim - 2)))


def check_channels(name, x, **tensors):
    """Errors unless x has channels and each of the tensors one element for each."""
    require_float(name, x, *tensors.values())
    if x.ndim < 2:
        raise ValueError(f"{name}: input {x.spec} must have two dims at least, batch and channels")
    for argument, t in tensors.items():
        if t is not None and t.shape != x.shape[1:2]:
            raise ValueError(
                f"{name}: {argument} is {t.spec}, expected one for each of the {x.shape[1]} channels of {x.spec}"
            )


def affine(y, weight, bias):
    """y times weight plus bias, each (channels,) or None."""
    y = y if weight is None else y * by_channel(weight, y)
    return y if bias is None else y + by_channel(bias, y)


def moments(x, dims):
    """(mean, biased variance) of x over `dims`, which stay as 1, and x without its mean."""
    mean = flow.mean(x, dim=dims, keepdim=True)
    centred = x - mean
    return mean, flow.mean(centred * centred, dim=dims, keepdim=True), centred


def move_towards(running, found, momentum):
    """running = (1 - momentum) running + momentum found, in place."""
    if running is not None:
        running.copy_(as_type(running.detach() * (1 - momentum) + found.detach() * momentum, running.dtype))


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """input (batch, channels, *size) with each channel normalised, times weight plus bias (channels,). Ioffe and Szegedy, 1502.03167.

    In training by the batch's mean and biased variance, which move running_mean and running_var (unbiased) by `momentum` towards
    them, in place; otherwise by those two. ValueError for one value a channel in training, or no running statistics without.
    """
    if input.ndim == 1 and not input.spec.size:
        return as_type(input * 1, input.dtype)
    check_channels("batch_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    x = widened(input)
    if training:
        dims = (0, *range(2, x.ndim))
        count = math.prod([x.shape[d] for d in dims])
        if count == 1:
            raise ValueError(f"batch_norm: in training {input.spec} must have more than one value a channel")
        mean, var, centred = moments(x, dims)
        if count:
            move_towards(running_mean, flow.flatten(mean), momentum)
            move_towards(running_var, flow.flatten(var) * (count / max(count - 1, 1)), momentum)
    elif running_mean is None or running_var is None:
        raise ValueError("batch_norm: running_mean and running_var are needed where training is False")
    else:
        centred, var = x - by_channel(running_mean, x), by_channel(running_var, x)
    return as_type(affine(centred * flow.rsqrt(var + eps), weight, bias), input.dtype)


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """input (batch, channels, *size) with each channel of each example normalised, times weight plus bias (channels,).

    With use_input_stats by its own mean and biased variance; their means over the batch move the running ones, in place, if given.
    Otherwise by the running ones. Ulyanov, Vedaldi and Lempitsky, 1607.08022.
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ValueError("instance_norm: running_mean and running_var are needed where use_input_stats is False")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    check_channels("instance_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    x, dims = widened(input), tuple(range(2, input.ndim))
    count = math.prod(x.shape[2:])
    if not dims or count == 1:
        raise ValueError(f"instance_norm: {input.spec} must have more than one element a channel")
    mean, var, centred = moments(x, dims)
    if count and x.shape[0]:
        move_towards(running_mean, flow.mean(flow.flatten(mean, 1), dim=0), momentum)
        move_towards(running_var, flow.mean(flow.flatten(var, 1), dim=0) * (count / (count - 1)), momentum)
    return as_type(affine(centred * flow.rsqrt(var + eps), weight, bias), input.dtype)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """input (batch, channels, *size) with each of `num_groups` groups of channels normalised, times weight plus bias (channels,).

    Wu and He, 1803.08494. ValueError if the groups do not divide the channels, or one has a single element.
    """
    check_channels("group_norm", input, weight=weight, bias=bias)
    batch, channels, *size = input.shape
    if isinstance(num_groups, bool) or not isinstance(num_groups, int) or num_groups < 1 or channels % num_groups:
        raise ValueError(
            f"group_norm: num_groups {num_groups!r} is no int above 0 that divides the {channels} channels of {input.spec}"
        )
    if batch * channels // num_groups * math.prod(size) == 1:
        raise ValueError(f"group_norm: a group of {input.spec} has one value alone")
    if not input.spec.size:
        return affine(input, weight, bias)
    x = widened(input)
    rows = flow.reshape(x, shape=(batch, num_groups, channels // num_groups * math.prod(size)))
    y = flow.reshape(flow.layer_norm(rows, eps=eps)[0], shape=x.shape)
    return as_type(affine(y, weight, bias), input.dtype)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input (batch, channels, *) over (k + alpha * the mean square of `size` channels around each) to the power beta.

    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", section 3.3, with alpha
    divided by the number of channels.
    """
    if input.ndim < 3:
        raise ValueError(f"local_response_norm: input {input.spec} must have 3 dims at least")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"local_response_norm: size is {size!r}, expected an int above 0")
    if not input.spec.size:
        return input
    squares = flow.transpose(input * input, dim0=1, dim1=-1)
    ends = ((size // 2, (size - 1) // 2),)
    mean = flow.transpose(window_mean(squares, (size,), (1,), ends, size), dim0=1, dim1=-1)
    return input / (mean * alpha + k) ** beta


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """input over its p-norm along `dim` (or dims), or over eps where that is larger."""
    if is_half(input):
        return as_type(normalize(widened(input), p, dim, eps), input.dtype)
    norm = vector_norm(input, p, dim, True)
    return input / flow.clamp(norm, min=eps)


__all__ = [
    *["batch_norm", "group_norm", "instance_norm", "layer_norm"],
    *["local_response_norm", "normalize", "rms_norm"],
]
