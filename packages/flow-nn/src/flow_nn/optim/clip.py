"""Clipping of gradients."""

import flow_core as flow
from flow_autograd import no_grad


def clip_grad_norm_(parameters, max_norm):
    """Scales the gradients so that the norm of all of them together is at most `max_norm`; returns the norm they had, a 0-d tensor.

    As PyTorch's: the factor is min(1, max_norm / (norm + 1e-6)). NaN or inf gradients give a norm that says so, and NaN gradients.
    """
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return flow.zeros()
    with no_grad():
        total = flow.sum_of_squares(grads[0])
        for g in grads[1:]:
            total = total + flow.sum_of_squares(g)
        norm = flow.sqrt(total)
        factor = flow.minimum(max_norm / (norm + 1e-6), 1.0)
        for g in grads:
            g.mul_(factor)
    return norm
