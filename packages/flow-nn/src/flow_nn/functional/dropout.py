"""Dropout: setting elements, or whole channels, to zero at random. Hinton et al., 1207.0580."""

import math
import warnings

import flow_core as flow
from flow_core.dtype import float32
from flow_core.functions.overwriting import overwrite, refuse_recorded
from flow_core.ops.complex import PARTS
from flow_nn.functional.activation import SELU_ALPHA, SELU_SCALE
from flow_nn.functional.elementwise import FLOAT, require_kinds, require_tensor
from flow_nn.functional.geometry import as_type, is_half


def settled(name, input, p, training, inplace, compute):
    """compute(input) in training, else the input; with `inplace` written into it. ValueError unless p is a probability.

    p 0 and tensors without elements draw no random numbers.
    """
    require_tensor(name, "input", input)
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ValueError(f"{name}: p is {p!r}, expected a probability from 0 to 1")
    if not training or p == 0 or not input.spec.size:
        return input
    if inplace:
        refuse_recorded(name, (input,))
    y = input * 0 if p == 1 else compute(input)
    return overwrite(name, input, y) if inplace else y


def dropout(input, p=0.5, training=True, inplace=False):
    """x with each element set to 0 with probability p and the rest divided by 1 - p; in training, x itself otherwise."""
    return settled("dropout", input, p, training, inplace, lambda x: scaled(x, p))


def scaled(x, p):
    """x times 0 with probability p, else 1 / (1 - p); of complex numbers both parts by one factor."""
    if x.dtype in PARTS:
        return x * flow.dropout(flow.ones(x.shape, dtype=PARTS[x.dtype]), p)
    return flow.dropout(x, p)


def channels(x):
    """Ones (batch, channels, 1, ...) of x's number of dims, to draw one number for each channel."""
    return flow.ones((*x.shape[:2], *[1] * (x.ndim - 2)), dtype=PARTS.get(x.dtype, x.dtype))


def feature_dropout(input, p=0.5, training=True, inplace=False, name="feature_dropout"):
    """x (batch, channels, *) with each channel of each example set to 0 with probability p and the rest divided by 1 - p."""
    require_tensor(name, "input", input)
    if input.ndim < 2:
        raise ValueError(f"{name}: input {input.spec} must have two dims at least, batch and channels")
    return settled(name, input, p, training, inplace, lambda x: x * flow.dropout(channels(x), p))


def dropout1d(input, p=0.5, training=True, inplace=False):
    """x (batch, channels, length), or without the batch, with whole channels set to 0 with probability p. Tompson et al., 1411.4280."""
    require_tensor("dropout1d", "input", input)
    if input.ndim not in (2, 3):
        raise ValueError(f"dropout1d: input {input.spec} must have 3 dims, or 2 without the batch")
    return by_channel("dropout1d", input, p, training, inplace, 2)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """x (batch, channels, height, width) with whole channels set to 0 with probability p.

    As PyTorch's, three dims are read as (batch, channels, length), with a warning.
    """
    warn_of_dims("dropout2d", input, (4,))
    return feature_dropout(input, p, training, inplace, "dropout2d")


def dropout3d(input, p=0.5, training=True, inplace=False):
    """x (batch, channels, depth, height, width), or without the batch, with whole channels set to 0 with probability p."""
    warn_of_dims("dropout3d", input, (4, 5))
    return by_channel("dropout3d", input, p, training, inplace, 4)


def warn_of_dims(name, x, expected):
    """A warning unless x has one of the expected numbers of dims."""
    require_tensor(name, "input", x)
    if x.ndim not in expected:
        warnings.warn(
            f"{name}: {x.spec} is read as (batch, channels, ...), expected {' or '.join(map(str, expected))} dims",
            UserWarning,
            stacklevel=3,
        )


def by_channel(name, x, p, training, inplace, without_batch):
    """feature_dropout of x, which has no batch if it has `without_batch` dims."""
    if x.ndim != without_batch:
        return feature_dropout(x, p, training, inplace, name)
    y = feature_dropout(flow.unsqueeze(x, 0), p, training, inplace, name)  # a view: what is written is x
    return x if inplace else flow.reshape(y, shape=x.shape)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """x with elements set to selu's lower limit with probability p, then scaled and moved to keep mean 0 and variance 1.

    Klambauer et al., 1706.02515, section "new dropout technique".
    """
    return settled("alpha_dropout", input, p, training, inplace, lambda x: saturated("alpha_dropout", x, p, x.shape))


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """As alpha_dropout, of whole channels of x (batch, channels, *)."""
    require_tensor("feature_alpha_dropout", "input", input)
    if training and input.ndim < 2:
        raise ValueError(f"feature_alpha_dropout: input {input.spec} must have two dims at least, batch and channels")
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return settled(
        "feature_alpha_dropout",
        input,
        p,
        training,
        inplace,
        lambda x: saturated("feature_alpha_dropout", x, p, shape),
    )


def saturated(name, x, p, shape):
    """a * (x where it is kept, -alpha * scale elsewhere) + b, kept drawn for a tensor of `shape`."""
    require_kinds(name, x, (FLOAT,))
    limit = SELU_ALPHA * SELU_SCALE
    a = 1 / math.sqrt((limit * limit * p + 1) * (1 - p))
    wide = float32 if is_half(x) else x.dtype
    kept = flow.dropout(flow.ones(shape, dtype=wide), p)
    kept = flow.cast(kept > 0, dtype=wide)
    return as_type(as_type(x, wide) * (kept * a) + ((kept - 1) * (limit * a) + limit * a * p), x.dtype)


__all__ = """alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout feature_dropout""".split()
