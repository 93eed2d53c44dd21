"""Linear maps of the last dim, and looking rows up."""

import math

import flow_core as flow

linear = flow.linear


def embedding(ids, weight):
    """The rows of weight (rows, channels) that ids name: (*ids.shape, channels)."""
    return flow.take_rows(ids, weight)


def bilinear(input1, input2, weight, bias=None):
    """input1^T weight input2 for each of weight's matrices (out, in1, in2), plus bias: (*, out) of input1 (*, in1), input2 (*, in2)."""
    if weight.ndim != 3 or input1.shape[-1:] != weight.shape[1:2] or input2.shape[-1:] != weight.shape[2:]:
        raise ValueError(
            f"bilinear: input1 {input1.spec}, input2 {input2.spec} must end in the sizes of weight {weight.spec} (out, in1, in2)"
        )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise ValueError(f"bilinear: input1 {input1.spec} and input2 {input2.spec} must agree in all but the last dim")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"bilinear: bias {bias.spec} must have one element for each matrix of weight {weight.spec}")
    out, in1, in2 = weight.shape
    num_rows = math.prod(input1.shape[:-1])
    rows = flow.reshape(input1, shape=(num_rows, in1))
    mixed = flow.matmul(rows, flow.reshape(flow.permute(weight, (1, 0, 2)), shape=(in1, out * in2)))
    mixed = flow.reshape(mixed, shape=(num_rows, out, in2))
    y = flow.matmul(mixed, flow.reshape(input2, shape=(num_rows, in2, 1)))
    y = flow.reshape(y, shape=(*input1.shape[:-1], out))
    return y if bias is None else y + bias


__all__ = ["bilinear", "embedding", "linear"]
