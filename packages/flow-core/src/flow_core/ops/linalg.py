"""Matrix products."""

import numpy as np

from flow_core.dtype import CATEGORIES, bool_, float32, float64, promote
from flow_core.op import Checked, define
from flow_core.spec import TensorSpec, as_count, broadcast_shapes, num_elements


def product_dtype(name, x, y):
    """The dtype of a product of x and y; TypeError for bools, which have none."""
    dtype = promote(x.dtype, y.dtype)
    if dtype is bool_:
        raise TypeError(f"{name}: {x} and {y} hold bools; cast them to numbers first")
    return dtype


def multiplied(dtype):
    """How arrays are cast before a product of `dtype` and after it: 16-bit floats are multiplied in float32."""
    wide = float32 if CATEGORIES[dtype] == 2 and dtype.itemsize == 2 else dtype
    return lambda a: a if a.dtype is wide else a.astype(wide), lambda a: np.asarray(a, dtype)


def matmul_kernel(x, y, /):
    wide, narrow = multiplied(product_dtype("matmul", x, y))
    if x.dtype is y.dtype and x.dtype in (np.float32, np.float64) and min(x.ndim, y.ndim) > 1:
        return np.dot if x.ndim == y.ndim == 2 else np.matmul  # of matrices the same, with less ado
    return lambda a, b: narrow(np.matmul(wide(a), wide(b)))


@define(matmul_kernel, linear=(0, 1))
def matmul(x, y, /):
    """The matrix product over the last dim of x and the last but one of y; leading dims broadcast.

    A 1-d argument counts as a row on the left, a column on the right, and loses that dim in the output. 16-bit floats are
    multiplied in float32 and rounded once. ValueError if the inner sizes differ.
    """
    if not x.ndim or not y.ndim:
        raise ValueError(f"matmul: {x} and {y} must have a dim at least; use * for numbers")
    left = x.shape if x.ndim > 1 else (1, *x.shape)
    right = y.shape if y.ndim > 1 else (*y.shape, 1)
    if left[-1] != right[-2]:
        raise ValueError(f"matmul: {x} and {y} do not fit: the inner sizes are {left[-1]} and {right[-2]}")
    shape = broadcast_shapes("matmul", left[:-2], right[:-2])
    shape += left[-2:-1] if x.ndim > 1 else ()
    shape += right[-1:] if y.ndim > 1 else ()
    return TensorSpec(shape, product_dtype("matmul", x, y), x.device)


def plain_matrices(x, y, num_in):
    """True where no cast and no reshape stands between the arrays and their product: small products then cost half."""
    return x.ndim == y.ndim == 2 and num_in == 1 and x.dtype is y.dtype and x.dtype in (float32, float64)


def linear_kernel(x, weight, bias=None, /, *, num_in):
    wide, narrow = multiplied(product_dtype("linear", x, weight))
    inner = num_elements(weight.shape[weight.ndim - num_in :])
    outer = num_elements(weight.shape[: weight.ndim - num_in])
    shape = x.shape[: x.ndim - num_in] + weight.shape[: weight.ndim - num_in]
    rows = num_elements(x.shape[: x.ndim - num_in])

    if bias is None and plain_matrices(x, weight, num_in):
        return lambda a, w, b=None: np.matmul(a, w.T)

    def run(a, w, b=None):
        out = np.matmul(wide(a).reshape(rows, inner), wide(w).reshape(outer, inner).T)
        if b is not None:
            out += wide(b).reshape(outer)
        return narrow(out).reshape(shape)

    return run


@define(linear_kernel, linear=((0, 2), (1, 2)))
def linear(x, weight, bias=None, /, *, num_in=1):
    """x times weight transposed, plus bias: contracts the last `num_in` dims of x (*rows, *in) and of weight (*out, *in).

    The output is (*rows, *out), bias (*out). With one dim each this is PyTorch's linear; with more, as (heads, head_dim), the dims
    stay apart so that each can be split over ranks by itself.
    """
    num_in = as_count("linear", "num_in", num_in)
    if x.ndim < num_in or weight.ndim < num_in or x.shape[x.ndim - num_in :] != weight.shape[weight.ndim - num_in :]:
        raise ValueError(f"linear: the last {num_in} dims of input {x} and weight {weight} must agree")
    out = weight.shape[: weight.ndim - num_in]
    if bias is not None and bias.shape != out:
        raise ValueError(f"linear: bias {bias} must have the output dims {out} of weight {weight}")
    dtype = product_dtype("linear", x, weight)
    if bias is not None and promote(dtype, bias.dtype) is not dtype:
        raise TypeError(f"linear: bias {bias} is wider than input {x} and weight {weight}")
    return Checked(TensorSpec(x.shape[: x.ndim - num_in] + out, dtype, x.device), {"num_in": num_in})


def linear_weight_kernel(g, x, /, *, num_in):
    if plain_matrices(g, x, num_in):
        return lambda a, b: np.matmul(a.T, b)
    wide, narrow = multiplied(product_dtype("linear_weight", g, x))
    inner = num_elements(x.shape[x.ndim - num_in :])
    rows = num_elements(x.shape[: x.ndim - num_in])
    shape = linear_weight.infer(g, x, num_in=num_in).out.shape
    outer = num_elements(g.shape[x.ndim - num_in :])
    return lambda a, b: narrow(np.matmul(wide(a).reshape(rows, outer).T, wide(b).reshape(rows, inner))).reshape(shape)


@define(linear_weight_kernel, linear=(0, 1))
def linear_weight(g, x, /, *, num_in=1):
    """The sum over rows of g's outer product with x: g (*rows, *out), x (*rows, *in) give (*out, *in). The gradient of linear's weight."""
    num_in = as_count("linear_weight", "num_in", num_in)
    lead = x.ndim - num_in
    if lead < 0 or g.shape[:lead] != x.shape[:lead]:
        raise ValueError(f"linear_weight: {g} and {x} must agree in their leading {lead} dims")
    return Checked(
        TensorSpec(g.shape[lead:] + x.shape[lead:], product_dtype("linear_weight", g, x), x.device), {"num_in": num_in}
    )


def linear_input_kernel(g, weight, /, *, num_in):
    wide, narrow = multiplied(product_dtype("linear_input", g, weight))
    num_out = weight.ndim - num_in
    inner, outer = num_elements(weight.shape[num_out:]), num_elements(weight.shape[:num_out])
    shape = linear_input.infer(g, weight, num_in=num_in).out.shape
    rows = num_elements(g.shape[: g.ndim - num_out])
    return lambda a, w: narrow(np.matmul(wide(a).reshape(rows, outer), wide(w).reshape(outer, inner))).reshape(shape)


@define(linear_input_kernel, linear=(0, 1))
def linear_input(g, weight, /, *, num_in=1):
    """g (*rows, *out) times weight (*out, *in): (*rows, *in). The gradient of linear's input."""
    num_in = as_count("linear_input", "num_in", num_in)
    num_out = weight.ndim - num_in
    if num_out < 0 or g.ndim < num_out or g.shape[g.ndim - num_out :] != weight.shape[:num_out]:
        raise ValueError(f"linear_input: {g} must end with the output dims {weight.shape[:num_out]} of weight {weight}")
    shape = g.shape[: g.ndim - num_out] + weight.shape[num_out:]
    return Checked(TensorSpec(shape, product_dtype("linear_input", g, weight), g.device), {"num_in": num_in})
