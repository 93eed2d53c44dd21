"""Looking up rows of a table, one by one or in bags; and the one-hot vectors that do the same by a product."""

import warnings

import numpy as np

import flow_core as flow
from flow_core.dtype import CATEGORIES, int32, int64
from flow_core.functions.subscript import plain
from flow_core.tensor import from_numpy
from flow_nn.functional.elementwise import FLOAT, number, require_kinds, require_tensor
from flow_nn.functional.geometry import as_type, widened


def one_hot(tensor, num_classes=-1):
    """int64 zeros (*shape, num_classes) with 1 at the class that each element (int64) names; -1 stands for one more than the largest."""
    return flow.one_hot(tensor, num_classes)


def checked_padding(name, padding_idx, num_rows):
    """padding_idx counted from the start, or None; ValueError if it is no row."""
    if padding_idx is None:
        return None
    if isinstance(padding_idx, bool) or not isinstance(padding_idx, int):
        raise TypeError(f"{name}: padding_idx is {padding_idx!r}, expected an int or None")
    if not -num_rows <= padding_idx < num_rows:
        raise ValueError(f"{name}: padding_idx {padding_idx} is no row of the {num_rows} of weight")
    return padding_idx % num_rows


def check_lookup(name, input, weight, sparse):
    """The errors that embedding and embedding_bag have in common."""
    require_tensor(name, "input", input)
    require_tensor(name, "weight", weight)
    if input.dtype not in (int32, int64):
        raise TypeError(f"{name}: input is {input.spec}, expected row numbers of int32 or int64")
    if weight.ndim != 2:
        raise ValueError(f"{name}: weight {weight.spec} must have 2 dims, rows and channels")
    if sparse:
        raise ValueError(f"{name}: sparse gradients are not supported; leave sparse=False")


def shorten_rows(name, ids, weight, max_norm, norm_type):
    """Scales the rows of weight that ids name to the norm `max_norm`, where theirs is larger, in place and unrecorded."""
    max_norm, norm_type = number(name, "max_norm", max_norm), number(name, "norm_type", norm_type)
    require_kinds(name, weight, (FLOAT,))
    used = np.unique(plain(name, ids))
    if not used.size:
        return
    table, used = weight.detach(), from_numpy(used.astype(np.int64))
    rows = widened(flow.take_rows(used, table))
    norms = flow.linalg.vector_norm(rows, norm_type, dim=1, keepdim=True)
    factors = flow.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
    table.copy_(flow.index_copy(table, 0, used, as_type(rows * factors, table.dtype)))


def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """The rows of weight (rows, channels) that input, of int32 or int64, names: (*input.shape, channels).

    The row `padding_idx` gets no gradient. Rows longer than `max_norm` by the norm `norm_type` are first scaled to it in place, without
    being recorded. With scale_grad_by_freq a row's gradient is divided by the times that input names it. IndexError for a number that
    is no row; ValueError for sparse gradients, which there are not.
    """
    check_lookup("embedding", input, weight, sparse)
    padding_idx = checked_padding("embedding", padding_idx, weight.shape[0])
    if max_norm is not None:
        shorten_rows("embedding", input, weight, max_norm, norm_type)
    rows = flow.take_rows(input, weight)
    if padding_idx is not None:
        rows = flow.where(flow.unsqueeze(input == padding_idx, -1), rows.detach(), rows)
    return divided_gradient(input, rows) if scale_grad_by_freq and input.spec.size else rows


def divided_gradient(ids, rows):
    """rows, whose gradient is that of rows divided by the times that ids name each."""
    _, where, counts = np.unique(plain("embedding", ids), return_inverse=True, return_counts=True)
    shares = from_numpy((1 / counts)[where].reshape(ids.shape).astype(rows.dtype))
    kept = rows.detach()
    change = flow.where(flow.isfinite(kept), rows - kept, 0.0)  # 0, but not in the gradient
    return kept + change * flow.unsqueeze(shares, -1)


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sums, means or, elementwise, maxima ("sum", "mean", "max") of bags of rows of weight (rows, channels): (bags, channels).

    A row of input (bags, size) is a bag; of an input of one dim, bag i goes from offsets[i] to the next offset or the end, which with
    `include_last_offset` is the last of offsets. per_sample_weights, of input's shape, multiply the rows of a "sum". Rows `padding_idx`
    do not count. An empty bag gives zeros. Of equal maxima the first has the gradient. max_norm, norm_type and scale_grad_by_freq are as
    embedding's. The arguments input and weight may also come in the other order, with a warning, as they once did in PyTorch.
    """
    name = "embedding_bag"
    require_tensor(name, "input", input)
    require_tensor(name, "weight", weight)
    if CATEGORIES[weight.dtype] == 1 and CATEGORIES[input.dtype] == FLOAT:
        warnings.warn("embedding_bag: weight came before input; give input first", UserWarning, stacklevel=2)
        input, weight = weight, input
    check_lookup(name, input, weight, sparse)
    check_mode(name, input, mode, scale_grad_by_freq, per_sample_weights)
    padding_idx = checked_padding(name, padding_idx, weight.shape[0])
    if max_norm is not None:
        shorten_rows(name, input, weight, max_norm, norm_type)
    bags, num_bags = bags_of(name, input, offsets, include_last_offset)
    ids = plain(name, input).reshape(-1)
    counted = bags < num_bags
    kept = np.flatnonzero(counted if padding_idx is None else counted & (ids != padding_idx))
    bags, ids = bags[kept], ids[kept]
    if mode == "max":
        return bag_maxima(bags, ids, weight, num_bags)
    rows = widened(embedding(from_numpy(ids), weight, scale_grad_by_freq=scale_grad_by_freq))
    if per_sample_weights is not None:
        factors = flow.take_rows(from_numpy(kept), flow.flatten(per_sample_weights))
        rows = rows * flow.unsqueeze(widened(factors), -1)
    out = flow.add_rows(rows, from_numpy(bags), num_rows=num_bags)
    if mode == "mean":
        counts = np.maximum(np.bincount(bags, minlength=num_bags), 1)
        out = out / flow.unsqueeze(from_numpy(counts.astype(out.dtype)), -1)
    return as_type(out, weight.dtype)


def check_mode(name, input, mode, scale_grad_by_freq, per_sample_weights):
    """The errors of the arguments that depend on the mode."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f'{name}: mode is {mode!r}, expected "sum", "mean" or "max"')
    if mode == "max" and scale_grad_by_freq:
        raise ValueError(f'{name}: scale_grad_by_freq is not defined for the mode "max"')
    if per_sample_weights is None:
        return
    require_tensor(name, "per_sample_weights", per_sample_weights)
    if mode != "sum":
        raise ValueError(f'{name}: per_sample_weights are for the mode "sum", not {mode!r}')
    if per_sample_weights.shape != input.shape:
        raise ValueError(
            f"{name}: per_sample_weights {per_sample_weights.spec} must have the shape of input {input.spec}"
        )


def bags_of(name, input, offsets, include_last_offset):
    """(the bag of each element of input, flat; their number); what is past the last bag has that number."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(f"{name}: input {input.spec} has a bag in each row; offsets are for an input of one dim")
        return np.repeat(np.arange(input.shape[0]), input.shape[1]), input.shape[0]
    if input.ndim != 1:
        raise ValueError(f"{name}: input {input.spec} must have one dim or two")
    require_tensor(name, "offsets", offsets)
    if offsets.dtype not in (int32, int64) or offsets.ndim != 1:
        raise ValueError(f"{name}: offsets are {offsets.spec}, expected a vector of int32 or int64")
    starts = plain(name, offsets).astype(np.int64)
    if include_last_offset and not starts.size:
        raise ValueError(f"{name}: with include_last_offset there is one offset at least")
    if starts.size and (starts[0] != 0 or starts[-1] > input.shape[0] or (np.diff(starts) < 0).any()):
        raise ValueError(f"{name}: offsets {starts.tolist()} must rise from 0 to {input.shape[0]} at most")
    place = np.arange(input.shape[0])
    bags = np.maximum(np.searchsorted(starts, place, side="right") - 1, 0)
    return bags, len(starts) - bool(include_last_offset)


def bag_maxima(bags, ids, weight, num_bags):
    """The maxima (bags, channels) of the rows `ids` of each bag, zeros for empty bags; bags and ids are arrays, bags rise."""
    channels = weight.shape[1]
    if not ids.size or not channels:
        return flow.add_rows(flow.take_rows(from_numpy(ids), weight), from_numpy(bags), num_rows=num_bags)
    values = plain("embedding_bag", flow.take_rows(from_numpy(ids), weight.detach()))
    names, starts = np.unique(bags, return_index=True)
    first = np.zeros((num_bags, channels), np.int64)
    for bag, start, stop in zip(names, starts, [*starts[1:], len(bags)], strict=True):
        first[bag] = ids[start + values[start:stop].argmax(axis=0)]
    found = flow.gather(weight, 0, from_numpy(first))
    filled = np.zeros((num_bags, 1), bool)
    filled[names] = True
    return flow.where(from_numpy(filled), found, flow.zeros_like(found.detach()))


__all__ = ["embedding", "embedding_bag", "one_hot"]
