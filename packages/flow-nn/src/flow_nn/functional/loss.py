"""Losses: how far predictions are from what they should be."""

import flow_core as flow


def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    """The negative log-likelihood of targets (...) int64 under logits (..., classes), classes last.

    "mean" is over the targets that are not `ignore_index` (NaN if there are none), "sum" their sum, "none" a loss for each target.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'cross_entropy: reduction is {reduction!r}, expected "mean", "sum" or "none"')
    losses, _ = flow.cross_entropy_rows(logits, targets, ignore_index=ignore_index)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return flow.sum(losses)
    return flow.sum(losses) / flow.cast(flow.sum(targets != ignore_index), dtype=losses.dtype)


__all__ = ["cross_entropy"]
