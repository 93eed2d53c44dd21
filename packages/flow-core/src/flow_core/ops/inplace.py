"""Ops that write to their first arguments and return nothing: what optimizers and loading need."""

import numpy as np

import flow_kernels
from flow_core.dtype import CATEGORIES, category, float32, promote
from flow_core.op import Checked, InPlaceOp
from flow_core.spec import TensorSpec, as_float, broadcast_shapes
from flow_kernels import reference


def first(specs):
    return 1


def check_target(name, x, src):
    """Errors unless src can be cast and broadcast into x."""
    if broadcast_shapes(name, x.shape, src.shape) != x.shape:
        raise ValueError(f"{name}: {src} does not broadcast to {x}")
    wide = promote(x.dtype, src.dtype)
    if wide is not x.dtype and (CATEGORIES[x.dtype] < 2 or CATEGORIES[wide] == 3):
        raise TypeError(f"{name}: {src} cannot be stored in {x} without loss; cast it first")


def copy_into(x, src, /):
    """Overwrites x with src, broadcast and cast to x's shape and dtype."""
    check_target("copy_", x, src)
    return ()


def scale_by(x, factor, /):
    """Multiplies x by `factor`, a number or a tensor that broadcasts to x."""
    check_target("mul_", x, factor)
    return ()


def copy_kernel(x, src, /):
    def run(a, b):
        a[...] = b
        return ()

    return run


def scale_kernel(x, factor, /):
    def run(a, b):
        np.multiply(a, b, out=a, casting="unsafe")
        return ()

    return run


copy_ = InPlaceOp("copy_", copy_into, {"cpu": copy_kernel}, first, numbers=(1,))
mul_ = InPlaceOp("mul_", scale_by, {"cpu": scale_kernel}, first, numbers=(1,))


def parted(tensors):
    """(params, exp_avgs, exp_avg_sqs, grads, scalars) of adamw_'s arguments."""
    n = (len(tensors) - 3) // 4
    return *[tensors[i * n : (i + 1) * n] for i in range(4)], tensors[4 * n :]


def adamw_kernel(*specs, betas, eps, weight_decay):
    module = flow_kernels if all(p.dtype is float32 for p in specs[:-3]) else reference

    def run(*arrays):
        params, exp_avgs, exp_avg_sqs, grads, (lr, step, grad_scale) = parted(arrays)
        module.adamw(
            params, grads, exp_avgs, exp_avg_sqs,
            lr=float(lr), beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay, step=int(step), grad_scale=float(grad_scale),
        )  # fmt: skip
        return ()

    return run


def adamw_step(*tensors, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """One step of AdamW (Loshchilov and Hutter, 1711.05101, algorithm 2) on many tensors at once.

    Takes n params, n exp_avgs, n exp_avg_sqs, n grads, then lr, step (from 1) and grad_scale, which the grads are multiplied by.
    The first 3 n are written.
    """
    if len(tensors) < 3 or (len(tensors) - 3) % 4:
        raise ValueError(f"adamw_: {len(tensors)} arguments are not 4 n tensors and 3 numbers")
    params, exp_avgs, exp_avg_sqs, grads, scalars = parted(tensors)
    for group in zip(params, exp_avgs, exp_avg_sqs, grads, strict=True):
        if any(t is not group[0] for t in group):
            raise ValueError(f"adamw_: parameter {group[0]} has state and gradient {group[1:]}; they must be alike")
    if any(type(p) is not TensorSpec or CATEGORIES[p.dtype] != 2 for p in params):
        raise TypeError(f"adamw_: parameters {params} are not all tensors of float types")
    if any(s.shape != () or category(s.dtype) not in (1, 2) for s in scalars):
        raise ValueError(f"adamw_: lr, step and grad_scale are {scalars}, expected numbers or 0-d tensors")
    if not isinstance(betas, tuple) or len(betas) != 2:
        raise TypeError(f"adamw_: betas are {betas!r}, expected two numbers")
    attrs = {"eps": as_float("adamw_", "eps", eps), "weight_decay": as_float("adamw_", "weight_decay", weight_decay)}
    return Checked((), {"betas": tuple(as_float("adamw_", "betas", b) for b in betas), **attrs})


adamw_ = InPlaceOp(
    "adamw_", adamw_step, {"cpu": adamw_kernel}, lambda tensors: 3 * ((len(tensors) - 3) // 4), numbers=...
)
