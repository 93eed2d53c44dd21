"""Losses that are 0 for what is right by a margin."""

import flow_core as flow
from flow_nn.functional.distance import pairwise_distance
from flow_nn.functional.geometry import as_type, require_float, widened
from flow_nn.functional.reduction import chosen, dtype_of, hinge, reduced


def narrowed(dtype):
    """`dtype` where it is a 16-bit float, in which the result is then rounded, else None."""
    return dtype if dtype in (flow.bfloat16, flow.float16) else None


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, margin - input, at least 0, where it is -1; the sum of both for any other target."""
    reduction = chosen("hinge_embedding_loss", reduction, size_average, reduce)
    x = widened(input)
    losses = flow.where(target != 1, hinge(float(margin) - x), 0.0) + flow.where(target != -1, x, 0.0)
    return reduced(losses, reduction, narrowed(input.dtype))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where target is 1, cos - margin, at least 0, where it is -1; cos is of the angle between the rows of input1 and input2.

    The inputs are (batch, size) and target (batch,), or (size,) and ().
    """
    reduction = chosen("cosine_embedding_loss", reduction, size_average, reduce)
    if target.ndim > 1 or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise ValueError(
            f"cosine_embedding_loss: inputs {input1.spec} and {input2.spec} must have 2 dims and target {target.spec} 1, or 1 and 0"
        )
    dtype, dim = narrowed(dtype_of(input1, input2)), target.ndim
    a, b = widened(input1), widened(input2)
    # PyTorch's own small number: a row of zeros has cosine 0, and a gradient.
    norms = (flow.sum(a * a, dim=dim) + 1e-12) * (flow.sum(b * b, dim=dim) + 1e-12)
    cos = flow.sum(a * b, dim=dim) / flow.sqrt(norms)
    losses = flow.where(target == 1, 1 - cos, 0.0) + flow.where(target == -1, hinge(cos - margin), 0.0)
    return reduced(losses, reduction, dtype)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """margin - target (input1 - input2), at least 0: target is 1 where input1 should rank higher, -1 where input2. They broadcast."""
    reduction = chosen("margin_ranking_loss", reduction, size_average, reduce)
    same_dims("margin_ranking_loss", input1=input1, input2=input2, target=target)
    dtype = narrowed(dtype_of(input1, input2, target))
    losses = hinge(-widened(target) * (widened(input1) - widened(input2)) + float(margin))
    return reduced(losses, reduction, dtype)


def same_dims(name, **tensors):
    """ValueError unless the tensors have equally many dims."""
    if len({t.ndim for t in tensors.values()}) > 1:
        each = ", ".join(f"{argument} {t.spec}" for argument, t in tensors.items())
        raise ValueError(f"{name}: {each} must have equally many dims")


def rows(name, input):
    """input as (batch, classes); ValueError unless it is that or (classes,), and has classes."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise ValueError(f"{name}: input {input.spec} must be (batch, classes) or (classes,), with classes")
    require_float(name, input)
    if input.ndim == 2:
        return widened(input)
    return flow.reshape(widened(input), shape=(1, input.spec.size))


def marked(places, counts, x):
    """True where one of a row's places, with a count above 0, is: bools of the shape of x (batch, classes)."""
    return flow.scatter_add(flow.zeros_like(x.detach(), dtype=flow.int64), 1, places, counts) > 0


def multi_margin_loss(
    input,
    target,
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """The mean over the classes j of (margin - input[target] + input[j])^p, at least 0, without j = target, times weight[target].

    input is (batch, classes) and target (batch,) int64, or (classes,) and (). p is 1 or 2. IndexError for a target that is no class.
    """
    reduction = chosen("multi_margin_loss", reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is {p!r}, expected 1 or 2")
    x = rows("multi_margin_loss", input)
    batch, classes = x.shape
    if target.dtype is not flow.int64:
        raise TypeError(f"multi_margin_loss: target is {target.spec}, expected classes, int64")
    if target.ndim > 1 or target.spec.size != batch:
        raise ValueError(
            f"multi_margin_loss: target {target.spec} must have one element for each row of input {input.spec}"
        )
    if weight is not None and weight.shape != (classes,):
        raise ValueError(f"multi_margin_loss: weight {weight.spec} must have one element for each of {classes} classes")
    places = flow.reshape(target, shape=(batch, 1))
    losses = flow.relu(x - flow.gather(x, 1, places) + float(margin))
    losses = losses if p == 1 else losses * losses
    if weight is not None:
        losses = losses * flow.take_rows(places, widened(weight))
    losses = flow.sum(flow.where(marked(places, flow.ones_like(places), x), 0.0, losses), dim=1) / classes
    return reduced(losses if target.ndim else flow.reshape(losses, shape=()), reduction, input.dtype)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The sum over the classes t that target names, and those j that it does not, of 1 - input[t] + input[j], at least 0, over all classes.

    input and target, int64, are (batch, classes) or (classes,). A row of target names classes up to its first -1.
    """
    reduction = chosen("multilabel_margin_loss", reduction, size_average, reduce)
    x = rows("multilabel_margin_loss", input)
    if target.dtype is not flow.int64:
        raise TypeError(f"multilabel_margin_loss: target is {target.spec}, expected classes, int64")
    if target.shape != input.shape and not (input.ndim == 0 and target.spec.size == 1):
        raise ValueError(f"multilabel_margin_loss: target {target.spec} must have the shape of input {input.spec}")
    target = flow.reshape(target, shape=x.shape)
    if bool(flow.any(target < -1)):
        raise ValueError("multilabel_margin_loss: an element of target is below -1")
    named = flow.cumsum(target < 0, dim=1) == 0
    places = flow.where(named, target, 0)
    mine = marked(places, as_type(named, flow.int64), x)
    gaps = flow.unsqueeze(x, 1) - flow.unsqueeze(flow.gather(x, 1, places), 2) + 1  # (batch, targets, classes)
    counts = flow.logical_and(flow.unsqueeze(named, 2), flow.logical_not(flow.unsqueeze(mine, 1)))
    losses = flow.sum(flow.where(counts, flow.relu(gaps), 0.0), dim=(1, 2)) / x.shape[1]
    return reduced(losses if input.ndim > 1 else flow.reshape(losses, shape=()), reduction, input.dtype)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """margin + d(anchor, positive) - d(anchor, negative), at least 0, where d is pairwise_distance with p and eps.

    With `swap` the last is d(positive, negative) where that is smaller (Balntas and others, "Learning local feature descriptors with
    triplets and shallow convolutional neural networks", 2016). ValueError unless margin is above 0.
    """
    reduction = chosen("triplet_margin_loss", reduction, size_average, reduce)

    def distance(a, b):
        return pairwise_distance(a, b, p, eps)

    return triplets("triplet_margin_loss", anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """triplet_margin_loss with a distance of one's own, a function of two tensors; by default pairwise_distance."""
    name = "triplet_margin_with_distance_loss"
    reduction = chosen(name, reduction)
    return triplets(name, anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def triplets(name, anchor, positive, negative, distance, margin, swap, reduction):
    """margin + distance(anchor, positive) - distance(anchor, negative), at least 0."""
    if not margin > 0:
        raise ValueError(f"{name}: margin is {margin}, expected a number above 0")
    same_dims(name, anchor=anchor, positive=positive, negative=negative)
    dtype = narrowed(dtype_of(anchor, positive, negative))
    anchor, positive, negative = widened(anchor), widened(positive), widened(negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = flow.minimum(far, distance(positive, negative))
    return reduced(hinge(near - far + float(margin)), reduction, dtype)


__all__ = [
    *["cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss"],
    *["multilabel_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"],
]
