"""Losses of scores for classes against the class that is right, or probabilities of each."""

import math

import flow_core as flow
from flow_nn.functional.geometry import as_type, require_float, widened
from flow_nn.functional.reduction import chosen, reduced


def token_cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    """The negative log-likelihood of targets (...) int64 under logits (..., classes), classes last, as models of text give them.

    "mean" is over the targets that are not `ignore_index` (NaN if there are none), "sum" their sum, "none" a loss for each target.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'token_cross_entropy: reduction is {reduction!r}, expected "mean", "sum" or "none"')
    losses, _ = flow.cross_entropy_rows(logits, targets, ignore_index=ignore_index)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return flow.sum(losses)
    return flow.sum(losses) / flow.cast(flow.sum(targets != ignore_index), dtype=losses.dtype)


def nll_loss(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
):
    """-weight[target] * input[target], for input the log-probabilities (batch, classes, *) or (classes,), target (batch, *) or () their
    classes, int64 or uint8.

    The classes are dim 1, or the only one. Targets that are `ignore_index` count for nothing. "mean" divides by the sum of the
    targets' weights, all 1 without `weight` (classes,): NaN if it is 0. IndexError for a target that names no class.
    """
    reduction = chosen("nll_loss", reduction, size_average, reduce)
    check_classes("nll_loss", input, target, weight)
    x = widened(input)
    kept = target != ignore_index
    target = flow.where(kept, as_type(target, flow.int64), 0)
    losses = flow.where(kept, -picked(x, target), 0.0)
    return as_type(weighed(losses, target, kept, weight, reduction), input.dtype)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """nll_loss of log_softmax(input) over the classes, which are dim 1 of input (batch, classes, *), or its only dim.

    target holds classes, (batch, *) or (), or probabilities of all classes, in input's shape and floats; then "mean" is over the
    positions. `label_smoothing` in [0, 1] is the share of each target that is spread over all classes alike (Szegedy and others,
    1512.00567, section 7). ValueError or IndexError for a target that names no class. For classes last, as models of text give
    them, see token_cross_entropy.
    """
    reduction = chosen("cross_entropy", reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing is {label_smoothing}, expected a number in [0, 1]")
    if input.ndim and input.shape == target.shape:
        return of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    check_classes("cross_entropy", input, target, weight)
    kept, places = target != ignore_index, as_type(target, flow.int64)
    target = flow.where(kept, places, 0)
    x, dim = widened(input), class_dim(input)
    if not label_smoothing and input.ndim == dim + 1:  # classes are last: one op does it all
        losses, _ = flow.cross_entropy_rows(x, places, ignore_index=ignore_index)
        return as_type(weighed(losses, target, kept, weight, reduction), input.dtype)
    x = flow.log_softmax(x, dim=dim)
    out = weighed(flow.where(kept, -picked(x, target), 0.0), target, kept, weight, reduction)
    if label_smoothing:
        spread = -flow.sum(x if weight is None else x * along_classes(weight, x), dim=dim)
        # The weights of the targets divide this too, but do not multiply it: each class has brought its own.
        smooth = divided(flow.where(kept, spread, 0.0), target, kept, weight, reduction)
        out = smooth * (label_smoothing / x.shape[dim]) + out * (1 - label_smoothing)
    return as_type(out, input.dtype)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy of the logits (batch, classes, *) that a linear map makes of input (batch, features).

    linear_weight is (classes, *, features) and linear_bias (classes, *). ignore_index None is -100. PyTorch's options, which choose how
    the logits are held in pieces, are refused: the loss does not depend on them.
    """
    if options is not None:
        raise TypeError("linear_cross_entropy: options are not supported; leave them out, the loss is the same")
    if linear_weight.ndim < 2 or input.shape[-1:] != linear_weight.shape[-1:]:
        raise ValueError(
            f"linear_cross_entropy: linear_weight {linear_weight.spec} must be (classes, *, features), with the features of {input.spec}"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise ValueError(
            f"linear_cross_entropy: linear_bias {linear_bias.spec} does not fit weight {linear_weight.spec}"
        )
    *outs, features = linear_weight.shape
    rows = flow.reshape(linear_weight, shape=(math.prod(outs), features))
    bias = None if linear_bias is None else flow.reshape(linear_bias, shape=(math.prod(outs),))
    logits = flow.reshape(flow.linear(input, rows, bias), shape=(*input.shape[:-1], *outs))
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing):
    """cross_entropy where target gives a probability for each class."""
    require_float("cross_entropy", input, target)
    if ignore_index >= 0:
        raise ValueError(f"cross_entropy: ignore_index is {ignore_index}, but target {target.spec} holds no classes")
    dim = class_dim(input)
    check_weight("cross_entropy", input, weight)
    x, target = flow.log_softmax(widened(input), dim=dim), widened(target)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[dim]
    losses = x * target if weight is None else x * target * along_classes(weight, x)
    losses = -flow.sum(losses, dim=dim)
    return reduced(losses, reduction, input.dtype)


def class_dim(x):
    """The dim of the classes."""
    return 1 if x.ndim > 1 else 0


def along_classes(weight, x):
    """weight (classes,) as it broadcasts to x."""
    return flow.reshape(widened(weight), shape=(*weight.shape, *[1] * (x.ndim - class_dim(x) - 1)))


def picked(x, target):
    """The elements of x (batch, classes, *) or (classes,) that target (batch, *) or () names."""
    dim = class_dim(x)
    return flow.squeeze(flow.gather(x, dim, flow.unsqueeze(target, dim)), dim)


def weighed(losses, target, kept, weight, reduction):
    """The losses, each times the weight of its target, reduced."""
    if weight is not None:
        losses = losses * flow.take_rows(target, widened(weight))
    return divided(losses, target, kept, weight, reduction)


def divided(losses, target, kept, weight, reduction):
    """The losses, their sum, or that over the sum of the weights of the targets that are kept."""
    if reduction == "none":
        return losses
    total = flow.sum(losses)
    if reduction == "sum":
        return total
    count = as_type(kept, losses.dtype)
    return total / flow.sum(count if weight is None else flow.take_rows(target, widened(weight)) * count)


def check_classes(name, input, target, weight):
    """Errors unless target holds a class for each position of input."""
    require_float(name, input)
    if target.dtype not in (flow.int64, flow.uint8):
        raise TypeError(f"{name}: target is {target.spec}, expected classes, int64 or uint8")
    if not input.ndim:
        raise ValueError(f"{name}: input {input.spec} must have one dim at least, that of the classes")
    expected = input.shape[:1] + input.shape[2:] if input.ndim > 1 else ()
    if target.shape != expected:
        raise ValueError(
            f"{name}: target {target.spec} must have the shape {expected} that input {input.spec} asks for"
        )
    check_weight(name, input, weight)
    if not input.shape[class_dim(input)] and math.prod(expected):
        raise ValueError(f"{name}: input {input.spec} has no classes")


def check_weight(name, input, weight):
    """Errors unless weight is None or has an element for each class, of input's dtype."""
    if weight is None:
        return
    if weight.shape != input.shape[class_dim(input) :][:1]:
        raise ValueError(f"{name}: weight {weight.spec} must have one element for each class of input {input.spec}")
    if weight.dtype is not input.dtype:
        raise TypeError(f"{name}: weight {weight.spec} must have the dtype of input {input.spec}")


__all__ = ["cross_entropy", "linear_cross_entropy", "nll_loss", "token_cross_entropy"]
