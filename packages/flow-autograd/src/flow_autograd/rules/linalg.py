"""Derivatives of flow_core.ops.linalg. linear, linear_input and linear_weight are one trilinear form: each is the others' derivative."""

import flow_core as flow
from flow_autograd.vjp import defvjp, unbroadcast


def matmul_left(g, _out, _x, y):
    if y.ndim == 1:  # (..., m), (k) -> (..., m, k)
        return unbroadcast(flow.unsqueeze(g, -1) * y, _x)
    if _x.ndim == 1:  # (..., n), (..., k, n) -> (k)
        return unbroadcast(flow.squeeze(flow.matmul(y, flow.unsqueeze(g, -1)), -1), _x)
    # y transposed is what linear takes its weight for.
    return unbroadcast(flow.linear(g, y, None) if y.ndim == 2 else flow.matmul(g, y.mT), _x)


def matmul_right(g, _out, x, _y):
    if x.ndim == 1:  # (k), (..., n) -> (..., k, n)
        outer = flow.reshape(x, shape=(*x.shape, 1)) * flow.unsqueeze(g, -2) if _y.ndim > 1 else g * x
        return unbroadcast(outer, _y)
    if _y.ndim == 1:  # (..., m, k), (..., m) -> (k)
        return unbroadcast(flow.squeeze(flow.matmul(x.mT, flow.unsqueeze(g, -1)), -1), _y)
    return unbroadcast(flow.linear_weight(x, g) if x.ndim == g.ndim == 2 else flow.matmul(x.mT, g), _y)


def sum_of_rows(g, num_rows):
    """g summed over its first `num_rows` dims."""
    return flow.sum(g, dim=tuple(range(num_rows))) if num_rows else g


defvjp(flow.matmul, matmul_left, matmul_right)
defvjp(
    flow.linear,
    lambda g, _out, _x, weight, _bias, num_in: unbroadcast(flow.linear_input(g, weight, num_in=num_in), _x),
    lambda g, _out, x, _weight, _bias, num_in: unbroadcast(flow.linear_weight(g, x, num_in=num_in), _weight),
    lambda g, _out, _x, _weight, _bias, num_in: unbroadcast(sum_of_rows(g, _x.ndim - num_in), _bias),
)
defvjp(
    flow.linear_input,
    lambda g, _out, _g, weight, num_in: unbroadcast(flow.linear(g, weight, num_in=num_in), _g),
    lambda g, _out, grad, _weight, num_in: unbroadcast(flow.linear_weight(grad, g, num_in=num_in), _weight),
)
defvjp(
    flow.linear_weight,
    lambda g, _out, _g, x, num_in: unbroadcast(flow.linear(x, g, num_in=num_in), _g),
    lambda g, _out, grad, _x, num_in: unbroadcast(flow.linear_input(grad, g, num_in=num_in), _x),
)
