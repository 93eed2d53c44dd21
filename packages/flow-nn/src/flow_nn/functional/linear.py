"""Linear and bilinear maps of the last dim."""

import math

import flow_core as flow


def linear(input, weight, bias=None, *, num_in=1):
    """input (*, in) times weight (out, in) transposed, plus bias (out,): (*, out). A weight (in,) gives (*), with a bias of no dims.

    `num_in` dims are contracted, as in flow_core.linear, where input and weight may have several (in) and (out).
    """
    if weight.ndim != 1 or num_in != 1:
        return flow.linear(input, weight, bias, num_in=num_in)
    y = flow.matmul(input, weight)
    if bias is not None and bias.ndim:
        raise ValueError(f"linear: bias {bias.spec} must have no dims beside weight {weight.spec}")
    return y if bias is None else y + bias


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


__all__ = ["bilinear", "linear"]
