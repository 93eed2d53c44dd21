"""Initialisers: they overwrite a parameter with drawn numbers and return it."""

import math

import flow_core as flow
from flow_autograd import no_grad


def normal_(tensor, mean=0.0, std=1.0, *, generator=None):
    """Normally distributed numbers."""
    call = (generator or flow.default_generator).next_call()
    return fill(tensor, flow.OPS["normal"](*call, shape=tensor.shape, mean=mean, std=std, dtype=tensor.dtype))


def uniform_(tensor, low=0.0, high=1.0, *, generator=None):
    """Numbers drawn evenly from [low, high)."""
    call = (generator or flow.default_generator).next_call()
    return fill(tensor, flow.uniform(*call, shape=tensor.shape, low=low, high=high, dtype=tensor.dtype))


def constant_(tensor, value):
    """`value` everywhere."""
    return fill(tensor, flow.full(shape=(), fill_value=value, dtype=tensor.dtype))


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def fan_uniform_(tensor, fan_in, *, generator=None):
    """Uniform within 1 / sqrt(fan_in) of 0: PyTorch's default for linear weights and biases."""
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    return uniform_(tensor, -bound, bound, generator=generator)


def fill(tensor, value):
    with no_grad():
        tensor.copy_(value)
    return tensor
