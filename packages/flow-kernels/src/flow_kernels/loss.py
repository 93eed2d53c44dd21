"""Cross entropy of logits and class numbers, forward and backward."""

import numpy as np

from flow_kernels import _cpu

F32 = np.dtype(np.float32)


def cross_entropy(logits, targets, ignore_index=-100, out=None):
    """(loss, lse), each row's own: lse = log(sum(exp(logits))) and loss = lse - logits[target].

    logits: float32 (..., classes), at least one class. targets: int64 (...,). loss, lse: float32 (...,). A row whose
    target is ignore_index has loss 0; any other target outside [0, classes) is a ValueError that names the row, counted
    over all leading dims, and then nothing is written. `out` = (loss, lse) gives the arrays to write.
    """
    if out is None:
        leading = np.shape(logits)[:-1]
        loss, lse = np.empty(leading, F32), np.empty(leading, F32)
    else:
        loss, lse = out
    _cpu.cross_entropy(logits, targets, ignore_index, loss, lse)
    return loss, lse


def cross_entropy_backward(dloss, logits, targets, lse, ignore_index=-100, out=None):
    """The gradient of the logits, (exp(logits - lse) - onehot(target)) * dloss; a row that is ignored is 0.

    dloss: the gradient of each row's loss, (...,). lse: what `cross_entropy` returned. `out` gives the array to write,
    which may be logits itself. Errors as in `cross_entropy`.
    """
    dlogits = np.empty_like(logits) if out is None else out
    _cpu.cross_entropy_backward(dloss, logits, targets, lse, ignore_index, dlogits)
    return dlogits
