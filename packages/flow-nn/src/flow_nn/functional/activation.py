"""Activations: functions of each element, or of a row of them."""

import math

import flow_core as flow

softmax = flow.softmax
log_softmax = flow.log_softmax
gelu = flow.gelu


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta, and x itself where beta x > threshold."""
    return flow.softplus(input, beta=beta, threshold=threshold)


def logsigmoid(input):
    """log(sigmoid(x)), exact also far from 0."""
    return -flow.softplus(-input, beta=1.0, threshold=math.inf)


__all__ = ["gelu", "log_softmax", "logsigmoid", "softmax", "softplus"]
