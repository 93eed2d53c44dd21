"""Functions that arrange, join and repeat."""

import numpy as np

import flow_core as flow
from flow_core.array_api.dtypes import promoted
from flow_core.array_api.searching import take
from flow_core.spec import as_dim, as_dims


def broadcast_arrays(*arrays):
    """The tensors expanded to the shape that theirs broadcast to, a list of read-only views."""
    return list(flow.broadcast_tensors(*arrays))


def broadcast_to(x, /, shape):
    """x expanded to `shape`, a read-only view."""
    return flow.broadcast_to(x, shape)


def broadcast_shapes(*shapes):
    """The shape, a tuple, that shapes broadcast to. From the standard's 2025.12."""
    return flow.broadcast_shapes(*shapes)


def concat(arrays, /, *, axis=0):
    """Tensors joined along an axis, or flattened first where it is None; dtypes promote."""
    if axis is None:
        arrays, axis = [flow.ravel(x) for x in arrays], 0
    return flow.cat(list(arrays), dim=axis)


def expand_dims(x, /, axis):
    """x with an axis of size 1 put in at `axis`. A view."""
    as_range("expand_dims", axis, x.ndim + 1)
    return flow.unsqueeze(x, axis)


def as_range(name, axis, ndim):
    """IndexError unless `axis` is one of `ndim` axes, counted from either end."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"{name}: axis {axis} is out of range, expected {-ndim} to {ndim - 1}")


def flip(x, /, *, axis=None):
    """x with the elements along each axis, or the given ones, in the opposite order. A view."""
    return flow.flip(x, axis_tuple("flip", axis, x.ndim))


def axis_tuple(name, axis, ndim):
    """The axes that `axis` names: an int, several, or None for all."""
    return as_dims(name, axis, ndim)


def moveaxis(x, source, destination, /):
    """x with the axes `source` at the places `destination`, the others in their order. A view."""
    return flow.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """x with its axes in another order. A view."""
    return flow.permute(x, dims=tuple(axes))


def repeat(x, repeats, /, *, axis=None):
    """Each element of x along an axis (of the flattened x without one) repeated; `repeats` is an int, or a tensor of one for each."""
    if axis is None:
        x, axis = flow.ravel(x), 0
    axis = as_dim("repeat", axis, x.ndim)
    counts = repeats.data if hasattr(repeats, "spec") else repeats
    return take(x, flow.from_numpy(np.repeat(np.arange(x.shape[axis]), counts)), axis=axis)


def reshape(x, /, shape, *, copy=None):
    """x's elements in row-major order under another shape. copy None makes a view where it can be one, True always copies; False:
    ValueError where it cannot be a view."""
    out = flow.reshape(x, shape=tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))
    shares = np.shares_memory(out.data, x.data) or not x.spec.size
    if copy is False and not shares:
        raise ValueError(
            f"reshape: {x.spec} cannot be seen as shape {tuple(shape)} without a copy; copy=False forbids it"
        )
    return flow.cast(out, dtype=x.dtype) if copy and shares else out


def roll(x, /, shift, *, axis=None):
    """x with its elements moved on by `shift` along `axis` (one or several), those beyond the end at the start; flattened without."""
    if axis is None:
        return flow.roll(x, shift)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return flow.roll(x, shift if isinstance(shift, tuple) else (shift,) * len(axes), axes)


def squeeze(x, /, axis):
    """x without the given axes, whose size must be 1 (ValueError). A view."""
    axes = axis_tuple("squeeze", axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: {x.spec} has sizes {[x.shape[a] for a in axes]} along axis {axis}, expected 1")
    return flow.squeeze(x, axes)


def stack(arrays, /, *, axis=0):
    """Tensors of one shape joined along a new axis; dtypes promote."""
    return flow.stack(promoted(*arrays), axis)


def tile(x, repetitions, /):
    """x repeated as a whole along each axis; the shorter of x's shape and `repetitions` gets leading 1s."""
    return flow.tile(x, *repetitions) if repetitions else flow.cast(x, dtype=x.dtype)


def unstack(x, /, *, axis=0):
    """The slices of x along an axis, a tuple of views without it."""
    return flow.unbind(x, axis)
