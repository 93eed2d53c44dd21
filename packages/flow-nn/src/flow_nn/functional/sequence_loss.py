"""The connectionist temporal classification loss: the likelihood of a sequence of labels when nobody knows which frame holds which."""

import numpy as np

import flow_core as flow
from flow_nn.functional.geometry import as_type, require_float, widened
from flow_nn.functional.reduction import chosen, reduced

# The logarithm of no chance at all: far below what a sum of logarithms comes to, and finite, so that differences of two are 0 and not NaN.
NEVER = -1e30


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """-log of the sum of the probabilities of all paths that spell the targets, without repeats and then without blanks.

    log_probs is (time, batch, classes), or (time, classes) for one; targets, integers, (batch, length), or all joined in one dim, or
    (length,) for one; the lengths, integers, say how much of each counts. "mean" first divides each loss by its target's length. A
    target that no path spells costs infinity, or with zero_infinity nothing. Graves and others, "Connectionist temporal classification:
    labelling unsegmented sequence data with recurrent neural networks", 2006, section 4.1.

    As in PyTorch, the gradient is that of log-probabilities held normalised, as log_softmax holds them: at a frame, the probabilities
    less the chance of each class given the target.
    """
    reduction = chosen("ctc_loss", reduction)
    require_float("ctc_loss", log_probs)
    single = log_probs.ndim == 2
    if log_probs.ndim not in (2, 3) or not log_probs.spec.size:
        raise ValueError(
            f"ctc_loss: log_probs {log_probs.spec} must be (time, batch, classes) or (time, classes), not empty"
        )
    x = widened(flow.unsqueeze(log_probs, 1) if single else log_probs)
    num_frames, batch, classes = x.shape
    if isinstance(blank, bool) or not isinstance(blank, int) or not 0 <= blank < classes:
        raise ValueError(f"ctc_loss: blank is {blank!r}, expected a class, an int in [0, {classes})")
    frames = lengths("input_lengths", input_lengths, batch, num_frames)
    sizes = lengths("target_lengths", target_lengths, batch, None)
    labels = as_rows(targets, sizes, single, classes, blank)
    losses = -path_log_likelihood(x, labels, frames, sizes, blank)
    impossible = losses > -NEVER / 2
    losses = flow.where(impossible, 0.0 if zero_infinity else np.inf, losses)
    losses = losses + flow.where(impossible, 0.0, slack(x, frames))
    if reduction == "mean":
        losses = losses / flow.tensor(np.maximum(sizes, 1), dtype=x.dtype)
    elif single and reduction == "none":
        losses = flow.squeeze(losses, 0)
    return as_type(reduced(losses, reduction), log_probs.dtype)


def slack(x, frames):
    """0 for each of the batch, whose gradient in x (time, batch, classes) is the probabilities in the frames that count."""
    counts = flow.tensor(np.arange(x.shape[0])[:, None] < frames)  # (time, batch)
    mass = flow.sum(flow.where(counts, flow.sum(flow.exp(x), dim=2), 0.0), dim=0)
    return mass - mass.detach()


def path_log_likelihood(x, labels, frames, sizes, blank):
    """log of the chance of each row of labels (batch, length) under x (time, batch, classes), about NEVER where there is none.

    forward[b, s] is the chance to have spelt the first s of: blank, label, blank, label, ..., blank, after the frames so far. A frame
    stays where it was, goes on by one, or by two to a label that differs from the one before (equations 5 to 8).
    """
    num_frames, batch, _ = x.shape
    states = np.full((batch, 2 * labels.shape[1] + 1), blank)
    states[:, 1::2] = labels
    may_skip = np.zeros(states.shape, bool)
    may_skip[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    may_skip[:, 3::2] &= labels[:, 1:] != blank
    may_skip = flow.tensor(may_skip)
    floor = flow.full((batch, 2), NEVER, dtype=x.dtype)
    x = flow.where(x < NEVER, NEVER, x)
    places = flow.tensor(np.ascontiguousarray(np.broadcast_to(states, (num_frames, *states.shape))))
    scores = flow.unbind(flow.gather(x, 2, places), 0)  # of each state, one tensor (batch, states) a frame
    start = np.arange(states.shape[1]) < 2
    forward = flow.where(flow.tensor(start), scores[0], NEVER)
    num_states = states.shape[1]
    for t in range(1, num_frames):
        padded = flow.cat([floor, forward], dim=1)
        by_one, by_two = padded[:, 1 : 1 + num_states], padded[:, :num_states]
        reached = flow.logaddexp(flow.logaddexp(forward, by_one), flow.where(may_skip, by_two, NEVER))
        counts = flow.tensor((t < frames)[:, None])
        forward = flow.where(counts, reached + scores[t], forward)
    ends = flow.gather(forward, 1, flow.tensor(np.stack([2 * sizes, np.maximum(2 * sizes - 1, 0)], 1)))
    last = flow.where(flow.tensor(sizes > 0), ends[:, 1], NEVER)
    total = flow.logaddexp(ends[:, 0], last)
    # Without a frame nothing is spelt, and that for certain.
    return flow.where(flow.tensor(frames > 0), total, flow.tensor(np.where(sizes == 0, 0.0, NEVER), dtype=x.dtype))


def lengths(name, given, batch, most):
    """Lengths as an int64 array (batch,); errors unless they are integers in [0, most], one for each of the batch."""
    array = np.asarray(given.detach().numpy() if hasattr(given, "spec") else given)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"ctc_loss: {name} holds {array.dtype}, expected integers")
    array = array.astype(np.int64).reshape(-1) if array.ndim < 2 else array
    if array.shape != (batch,):
        raise ValueError(f"ctc_loss: {name} has shape {array.shape}, expected a length for each of {batch}")
    if (array < 0).any() or (most is not None and (array > most).any()):
        raise ValueError(
            f"ctc_loss: {name} {array.tolist()} must be 0 or more{f', and {most} at most' if most else ''}"
        )
    return array


def as_rows(targets, sizes, single, classes, blank):
    """The targets as an int64 array (batch, length), blank beyond their sizes; errors unless they are classes, as many as sizes says."""
    if not hasattr(targets, "spec"):
        raise TypeError(f"ctc_loss: targets is a {type(targets).__name__}, expected a tensor")
    if targets.dtype.kind not in "iu":
        raise TypeError(f"ctc_loss: targets are {targets.spec}, expected integers")
    array, longest = targets.detach().numpy().astype(np.int64), int(sizes.max(initial=0))
    counts = np.arange(longest) < sizes[:, None]
    rows = np.full((len(sizes), longest), blank, np.int64)
    if array.ndim == 1 and not (single and array.size >= longest):
        if array.size != sizes.sum():
            raise ValueError(
                f"ctc_loss: targets {targets.spec} must have as many elements as target_lengths add up to, {sizes.sum()}"
            )
        rows[counts] = array
    else:
        array = array[None] if array.ndim == 1 else array
        if array.ndim != 2 or len(array) != len(sizes) or array.shape[1] < longest:
            raise ValueError(
                f"ctc_loss: targets {targets.spec} must be ({len(sizes)}, {longest} or more), or all joined in one dim"
            )
        rows = np.where(counts, array[:, :longest], blank)
    if rows.size and (rows.min() < 0 or rows.max() >= classes):
        raise IndexError(f"ctc_loss: a target is not a class, in [0, {classes})")
    return rows


__all__ = ["ctc_loss"]
