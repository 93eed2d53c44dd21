"""Losses of probabilities, or their logits, of what is one of two, and distances of distributions."""

import math
import warnings

import flow_core as flow
from flow_core.ops import binary
from flow_nn.functional.activation import logsigmoid
from flow_nn.functional.geometry import as_type, require_float, widened
from flow_nn.functional.reduction import chosen, dtype_of, reduced, same_shape


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(target log(input) + (1 - target) log(1 - input)) times weight, which broadcasts, for input in [0, 1].

    No logarithm is below -100, so that none of the losses is infinite. ValueError for an input outside [0, 1], or another shape of target.
    """
    reduction = chosen("binary_cross_entropy", reduction, size_average, reduce)
    require_float("binary_cross_entropy", input, target, weight)
    same_shape("binary_cross_entropy", input=input, target=target)
    losses = binary.binary_cross_entropy(widened(input), widened(target))
    return reduced(losses if weight is None else losses * widened(weight), reduction, dtype_of(input, target))


def binary_cross_entropy_with_logits(
    input,
    target,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight=None,
):
    """binary_cross_entropy of sigmoid(input), without overflow, the term of `target` times pos_weight; weight and pos_weight broadcast."""
    reduction = chosen("binary_cross_entropy_with_logits", reduction, size_average, reduce)
    same_shape("binary_cross_entropy_with_logits", input=input, target=target)
    require_float("binary_cross_entropy_with_logits", input)
    dtype = dtype_of(input, target)
    x, target = widened(input), widened(target)
    positive = flow.softplus(-x, threshold=math.inf)  # -log(sigmoid(x))
    if pos_weight is not None:
        positive = positive * (target * (widened(pos_weight) - 1) + 1)
    losses = x * (1 - target) + positive
    return reduced(losses if weight is None else losses * widened(weight), reduction, dtype)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes, the last dim, of binary_cross_entropy_with_logits, each class times its weight."""
    reduction = chosen("multilabel_soft_margin_loss", reduction, size_average, reduce)
    require_float("multilabel_soft_margin_loss", input)
    if not input.ndim:
        raise ValueError(f"multilabel_soft_margin_loss: input {input.spec} must have one dim at least, of classes")
    x, target = widened(input), widened(target)
    losses = -(target * logsigmoid(x) + (1 - target) * logsigmoid(-x))
    if weight is not None:
        losses = losses * widened(weight)
    return reduced(flow.sum(losses, dim=-1) / input.shape[-1], reduction, input.dtype)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target input)), without overflow, for target 1 or -1; the shapes broadcast."""
    reduction = chosen("soft_margin_loss", reduction, size_average, reduce)
    require_float("soft_margin_loss", input)
    losses = flow.softplus(-widened(input) * widened(target), threshold=math.inf)
    return reduced(losses, reduction, dtype_of(input, target))


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log(target) - input), 0 where target is 0: the terms of the divergence of target from what has log-probabilities `input`.

    With log_target, target holds log-probabilities too. reduction "batchmean" is the sum over the size of dim 0, which is the divergence
    itself; "mean", over all elements, is not, and warns.
    """
    if reduction == "batchmean" and size_average is None and reduce is None:
        over = "sum"
    else:
        reduction = over = chosen("kl_div", reduction, size_average, reduce)
        if reduction == "mean":
            warnings.warn(
                'kl_div: reduction "mean" divides by the number of elements, not by that of distributions as "batchmean" does',
                UserWarning,
                stacklevel=3,
            )
    require_float("kl_div", input)
    dtype = dtype_of(input, target)
    x, target = widened(input), widened(target)
    losses = flow.exp(target) * (target - x) if log_target else flow.xlogy(target, target) - target * x
    total = reduced(losses, over)
    if reduction == "batchmean" and input.ndim:
        total = total / input.shape[0] if input.shape[0] else total * math.nan
    return as_type(total, dtype)


__all__ = [
    *["binary_cross_entropy", "binary_cross_entropy_with_logits"],
    *["kl_div", "multilabel_soft_margin_loss", "soft_margin_loss"],
]
