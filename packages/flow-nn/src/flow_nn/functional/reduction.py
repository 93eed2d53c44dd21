"""What the losses share: how they are reduced, PyTorch's older arguments for it, and its warning of shapes that broadcast."""

import warnings

import flow_core as flow
from flow_core.spec import broadcast_shapes
from flow_nn.functional.geometry import as_type

REDUCTIONS = ("none", "mean", "sum")


def chosen(name, reduction, size_average=None, reduce=None):
    """The reduction: "none", "mean" or "sum"; ValueError for another.

    size_average and reduce are PyTorch's older arguments, both True where only one is given: they come first, with a warning.
    """
    if size_average is not None or reduce is not None:
        averaged, reduced_ = size_average is not False, reduce is not False
        reduction = ("mean" if averaged else "sum") if reduced_ else "none"
        warnings.warn(
            f"{name}: size_average and reduce will go, write reduction={reduction!r} instead", UserWarning, stacklevel=4
        )
    if reduction == "elementwise_mean":
        warnings.warn(f'{name}: "elementwise_mean" is now written reduction="mean"', UserWarning, stacklevel=4)
        return "mean"
    if reduction not in REDUCTIONS:
        raise ValueError(f'{name}: {reduction!r} is not a valid value for reduction, expected "none", "mean" or "sum"')
    return reduction


def reduced(losses, reduction, dtype=None):
    """The losses themselves, their mean or their sum, in `dtype` if it is given. TypeError for the mean of integers."""
    if reduction == "mean":
        losses = flow.mean(losses)
    elif reduction == "sum":
        losses = flow.sum(losses)
    return losses if dtype is None else as_type(losses, dtype)


def warn_of_broadcast(name, input, target):
    """A warning where target has not input's shape; ValueError where they do not broadcast."""
    if input.shape != target.shape:
        broadcast_shapes(name, input.shape, target.shape)
        warnings.warn(
            f"{name}: target {target.spec} has not the shape of input {input.spec}; they broadcast, which is seldom what is meant",
            UserWarning,
            stacklevel=4,
        )


def same_shape(name, **tensors):
    """ValueError unless the tensors (or None) have one shape."""
    given = {argument: t for argument, t in tensors.items() if t is not None}
    if len({t.shape for t in given.values()}) > 1:
        each = ", ".join(f"{argument} {t.spec}" for argument, t in given.items())
        raise ValueError(f"{name}: {each} must have one shape")


def dtype_of(*tensors):
    """The dtype that the tensors promote to."""
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = flow.promote_types(dtype, t.dtype)
    return dtype


def at_least(x, least):
    """x, or `least` where it is below that, with the gradient of x everywhere, as where PyTorch clamps in place unrecorded."""
    return flow.where(x < least, x - x.detach() + least, x)


def hinge(x):
    """x where it is 0 or more, else 0; at 0 the gradient is that of x."""
    return flow.clamp(x, min=0)
