"""AdamW over many tensors at once."""

from flow_kernels import _cpu


def adamw(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    *,
    step,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=1e-2,
    grad_scale=1.0,
):
    """One step of AdamW in place: params, exp_avgs and exp_avg_sqs are written, grads are read.

    Each argument is a sequence of float32 arrays, as many and of the same shapes as params, no two of which may share
    memory. step counts from 1. grad_scale multiplies the gradients (1 / loss scale, or a clipping factor).

    With g = grad * grad_scale, in the order and with the roundings of PyTorch's AdamW (Loshchilov & Hutter 2019):
        p = p * (1 - lr * weight_decay)
        m = m + (1 - beta1) * (g - m)
        v = beta2 * v + (1 - beta2) * g * g
        p = p - lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps)
    """
    _cpu.adamw(params, grads, exp_avgs, exp_avg_sqs, lr, beta1, beta2, eps, weight_decay, step, grad_scale)
