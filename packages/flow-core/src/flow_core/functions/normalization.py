"""Layer, group and batch norm as PyTorch's native functions return them, with their statistics, in terms of ops.

Each is (x - mean) * rstd * weight + bias with rstd = 1 / sqrt(var + eps), var the mean of squared differences; they differ in the dims that
mean and var are taken over. 16-bit floats are computed in float32.
"""

from flow_core.dtype import CATEGORIES, float32
from flow_core.ops import creation, elementwise, inplace, reduce
from flow_core.ops.shape import reshape
from flow_core.spec import as_shape, num_elements


def floats(name, **tensors):
    """TypeError unless the tensors given hold floats."""
    for argument, t in tensors.items():
        if t is not None and CATEGORIES[t.dtype] != 2:
            raise TypeError(f"{name}: {argument} is {t.spec}, expected floats")


def wide(x):
    """x, of 16 bits in float32."""
    return elementwise.cast(x, dtype=float32) if x.dtype.itemsize == 2 else x


def narrow(x, dtype):
    return x if x.dtype is dtype else elementwise.cast(x, dtype=dtype)


def statistics(x, dims, eps):
    """(mean, var, rstd) of x over `dims`, which are kept."""
    mean = reduce.mean(x, dim=dims, keepdim=True)
    centred = elementwise.sub(x, mean)
    var = reduce.mean(elementwise.mul(centred, centred), dim=dims, keepdim=True)
    return mean, var, elementwise.rsqrt(elementwise.add(var, float(eps)))


def normalised(x, mean, rstd):
    return elementwise.mul(elementwise.sub(x, mean), rstd)


def affine(x, weight, bias, shape, dtype):
    """x * weight + bias, both reshaped to `shape`, cast to `dtype`."""
    if weight is not None:
        x = elementwise.mul(x, reshape(wide(weight), shape=shape))
    if bias is not None:
        x = elementwise.add(x, reshape(wide(bias), shape=shape))
    return narrow(x, dtype)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """(out, mean, rstd) over the last dims, which must be `normalized_shape`; weight and bias have that shape or are None.

    mean and rstd keep the dims, with size 1, and have no gradient. ValueError for shapes that do not fit.
    """
    shape = as_shape("native_layer_norm", normalized_shape)
    floats("native_layer_norm", input=input, weight=weight, bias=bias)
    if not shape:
        raise ValueError("native_layer_norm: normalized_shape is empty, expected one dim at least")
    if input.shape[max(input.ndim - len(shape), 0) :] != shape:
        raise ValueError(f"native_layer_norm: normalized_shape {shape} is not the end of the shape of {input.spec}")
    for argument, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != shape:
            raise ValueError(f"native_layer_norm: {argument} is {t.spec}, expected the shape {shape}")
    x = wide(input)
    mean, _, rstd = statistics(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    out = affine(normalised(x, mean, rstd), weight, bias, shape, input.dtype)
    return out, mean.detach(), rstd.detach()


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """(out, mean, rstd) of input (N, C, ...), HxW elements a channel, in `group` groups of channels; mean and rstd (N, group).

    weight and bias (C,) or None. ValueError for sizes that do not fit.
    """
    floats("native_group_norm", input=input, weight=weight, bias=bias)
    if input.numel() != N * C * HxW or group < 1 or C % group:
        raise ValueError(f"native_group_norm: N {N}, C {C}, HxW {HxW} and group {group} do not fit {input.spec}")
    for argument, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != (C,):
            raise ValueError(f"native_group_norm: {argument} is {t.spec}, expected the shape ({C},)")
    x = reshape(wide(input), shape=(N, group, C // group * HxW))
    mean, _, rstd = statistics(x, (2,), eps)
    out = affine(reshape(normalised(x, mean, rstd), shape=(N, C, HxW)), weight, bias, (C, 1), input.dtype)
    # The statistics have the type of the input, and a gradient: they are outputs like the first.
    kept = [narrow(reshape(t, shape=(N, group)), input.dtype) for t in (mean, rstd)]
    return reshape(out, shape=input.shape), *kept


def batch_norm(name, input, weight, bias, running_mean, running_var, training, momentum, eps):
    """(out, mean, rstd) of input (N, C, ...) over all dims but the second.

    In training by the statistics of the input, which move the running ones by `momentum` (the variance unbiased); otherwise by the running
    ones, and mean and rstd are empty. ValueError for shapes that do not fit.
    """
    floats(name, input=input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    if input.ndim < 2:
        raise ValueError(f"{name}: {input.spec}, expected 2 dims or more, the second of channels")
    channels = input.shape[1]
    given = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    for argument, t in given.items():
        if t is not None and t.shape != (channels,):
            raise ValueError(f"{name}: {argument} is {t.spec}, expected the shape ({channels},)")
    if not training and (running_mean is None or running_var is None):
        raise ValueError(f"{name}: running_mean and running_var are needed where training is False")
    x, shape = wide(input), (channels, *[1] * (input.ndim - 2))
    if training:
        dims = (0, *range(2, x.ndim))
        mean, var, rstd = statistics(x, dims, eps)
        count = num_elements([x.shape[d] for d in dims])
        unbiased = elementwise.mul(var.detach(), count / max(count - 1, 1))
        for running, new in ((running_mean, mean.detach()), (running_var, unbiased)):
            if running is not None:
                step = elementwise.mul(reshape(new, shape=(channels,)), momentum)
                inplace.copy_(running, elementwise.add(elementwise.mul(wide(running), 1 - momentum), step))
        kept = [reshape(t.detach(), shape=(channels,)) for t in (mean, rstd)]
    else:
        mean = reshape(wide(running_mean), shape=shape)
        rstd = reshape(elementwise.rsqrt(elementwise.add(wide(running_var), float(eps))), shape=shape)
        kept = [creation.zeros((0,), dtype=x.dtype) for _ in range(2)]
    return affine(normalised(x, mean, rstd), weight, bias, shape, input.dtype), *kept


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    return batch_norm("native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps)


native_batch_norm.__doc__ = batch_norm.__doc__


def _native_batch_norm_legit(input, weight, bias, *rest, **named):
    """As native_batch_norm; or without running statistics: (input, weight, bias, training, momentum, eps)."""
    name = "_native_batch_norm_legit"
    names = ["running_mean", "running_var", "training", "momentum", "eps"]
    if len(rest) + len(named) == 3:
        names, named = names[2:], {"running_mean": None, "running_var": None, **named}
    found = {**dict(zip(names, rest, strict=False)), **named}
    if set(found) != {"running_mean", "running_var", "training", "momentum", "eps"} or len(rest) > len(names):
        raise TypeError(f"{name}: expected (input, weight, bias, running_mean, running_var, training, momentum, eps)")
    return batch_norm(name, input, weight, bias, **found)


def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """As native_batch_norm with training False."""
    name = "_native_batch_norm_legit_no_training"
    return batch_norm(name, input, weight, bias, running_mean, running_var, False, momentum, eps)


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """(out, mean, rstd, reserve) as native_batch_norm with training True; reserve, cuDNN's in PyTorch, is an empty tensor of uint8."""
    name = "_batch_norm_with_update"
    if running_mean is None or running_var is None:
        raise ValueError(f"{name}: running_mean and running_var are needed: they are what it updates")
    found = batch_norm(name, input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, creation.zeros((0,), dtype="uint8")


# The names that flow_core takes over.
__all__ = """native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training
_batch_norm_with_update""".split()
METHODS = {}
