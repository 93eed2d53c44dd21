"""Losses of numbers against what they should be."""

import math

import flow_core as flow
from flow_nn.functional.geometry import as_type, require_float, widened
from flow_nn.functional.reduction import at_least, chosen, dtype_of, reduced, same_shape, warn_of_broadcast


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|, times weight, of input's shape, whose sum "mean" then divides by. The shapes broadcast, with a warning."""
    reduction = chosen("l1_loss", reduction, size_average, reduce)
    warn_of_broadcast("l1_loss", input, target)
    gaps = flow.abs(widened(input) - widened(target))
    dtype = dtype_of(input, target)
    return weighed("l1_loss", gaps, input, weight, reduction, gaps.dtype if dtype.kind == "c" else dtype)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)^2, times weight, of input's shape, whose sum "mean" then divides by. The shapes broadcast, with a warning."""
    reduction = chosen("mse_loss", reduction, size_average, reduce)
    warn_of_broadcast("mse_loss", input, target)
    dtype = floating("mse_loss", input, target)
    return weighed("mse_loss", flow.square(widened(input) - widened(target)), input, weight, reduction, dtype)


def weighed(name, losses, input, weight, reduction, dtype):
    """The losses times weight, reduced; "mean" is over the sum of the weights."""
    if weight is None:
        return reduced(losses, reduction, dtype)
    same_shape(name, weight=weight, input=input)
    losses = losses * widened(weight)
    if reduction == "mean":
        return as_type(flow.sum(losses) / flow.sum(widened(weight)), dtype)
    return reduced(losses, reduction, dtype)


def floating(name, *tensors):
    """The dtype that the tensors promote to; TypeError unless it is a float's."""
    dtype = dtype_of(*tensors)
    if dtype.kind in "biuc":
        require_float(name, *tensors)
    return dtype


def bend(gap, width):
    """gap^2 / 2 where |gap| < width, width (|gap| - width / 2) elsewhere: a parabola that goes on straight."""
    size = flow.abs(gap)
    near = size < width
    inside = flow.where(near, gap, 0.0)  # so that what is infinite has slope `width`, and not NaN
    return flow.where(near, inside * inside * 0.5, (size - 0.5 * width) * width)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """(input - target)^2 / (2 beta) where the gap is below beta, |input - target| - beta / 2 elsewhere; l1_loss for beta 0.

    Girshick, 1504.08083, equation 3. The shapes broadcast, with a warning. ValueError for a negative beta.
    """
    reduction = chosen("smooth_l1_loss", reduction, size_average, reduce)
    warn_of_broadcast("smooth_l1_loss", input, target)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta is {beta}, expected 0 or more")
    dtype = floating("smooth_l1_loss", input, target)
    gap = widened(input) - widened(target)
    return reduced(bend(gap, beta) / beta if beta else flow.abs(gap), reduction, dtype)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """(input - target)^2 / 2 where the gap is at most delta, delta (|input - target| - delta / 2) elsewhere, times weight.

    Huber, "Robust estimation of a location parameter", 1964. The shapes broadcast, with a warning; weight has input's.
    ValueError unless delta is above 0.
    """
    reduction = chosen("huber_loss", reduction)
    warn_of_broadcast("huber_loss", input, target)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta is {delta}, expected a number above 0")
    dtype = floating("huber_loss", input, target)
    losses = bend(widened(input) - widened(target), delta)
    if weight is not None:
        same_shape("huber_loss", weight=weight, input=input)
        losses = losses * widened(weight)
    return reduced(losses, reduction, dtype)


def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """The negative log-likelihood of counts `target` that are Poisson distributed with mean exp(input), without what input is not in.

    Without log_input the mean is `input`, and log(input + eps) its logarithm. `full` adds Stirling's log(target!) where target is above 1.
    """
    reduction = chosen("poisson_nll_loss", reduction, size_average, reduce)
    dtype = dtype_of(input, target)
    x, y = widened(input), widened(target)
    losses = flow.exp(x) - y * x if log_input else x - y * flow.log(x + float(eps))
    if full:
        safe = flow.where(y > 1, y, 2)
        stirling = safe * flow.log(safe) - safe + flow.log(safe * (2 * math.pi)) * 0.5
        losses = losses + flow.where(y > 1, stirling, 0.0)
    return reduced(losses, reduction, dtype if dtype.itemsize == 2 and dtype.kind in "fV" else None)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log(var) + (input - target)^2 / var) / 2, var taken as eps where it is below: the negative log-likelihood of a normal distribution.

    var is a number, or a tensor of input's shape, perhaps with 1 for one of its dims or without the last. `full` adds log(2 pi) / 2.
    ValueError for a negative var.
    """
    reduction = chosen("gaussian_nll_loss", reduction)
    if not hasattr(var, "spec"):
        if isinstance(var, bool) or not isinstance(var, (int, float)):
            raise TypeError(f"gaussian_nll_loss: var is {var!r}, expected a tensor or a number")
        var = flow.full_like(input.detach(), var)
    if bool(flow.any(var < 0)):
        raise ValueError("gaussian_nll_loss: an element of var is negative")
    var = beside("gaussian_nll_loss", var, input)
    dtype = floating("gaussian_nll_loss", input, target)
    var = at_least(widened(var), float(eps))
    losses = (flow.log(var) + flow.square(widened(input) - widened(target)) / var) * 0.5
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction, dtype)


def beside(name, var, input):
    """var as it broadcasts to input."""
    if var.shape == input.shape:
        return var
    if input.ndim and var.shape == input.shape[:-1]:
        return flow.unsqueeze(var, -1)
    if var.ndim == input.ndim:
        differ = [n for n, m in zip(var.shape, input.shape, strict=True) if n != m]
        if differ == [1]:
            return var
    raise ValueError(f"{name}: var {var.spec} does not fit input {input.spec}")


__all__ = [
    *["gaussian_nll_loss", "huber_loss", "l1_loss"],
    *["mse_loss", "poisson_nll_loss", "smooth_l1_loss"],
]
