"""Pools over windows that are chosen so that a given number of them cover each dim."""

import math

import numpy as np

import flow_core as flow
from flow_core.functions.padding import pick_along
from flow_nn.functional.geometry import as_type, batched, ints, unbatched, widened


def target_size(name, x, output_size, num_dims):
    """output_size as `num_dims` ints; None keeps the size of a dim."""
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * num_dims
    if len(given) != num_dims:
        raise ValueError(f"{name}: output_size {given} has {len(given)} entries, expected {num_dims}")
    if 0 in x.shape[1:]:
        raise ValueError(f"{name}: input {x.spec} has an empty dim other than the batch")
    return ints(
        name, "output_size", [n if g is None else g for g, n in zip(given, x.shape[2:], strict=True)], num_dims, 0
    )


def bounds(size, parts):
    """The first element, and the one after the last, of each of `parts` windows that cover `size` elements."""
    i = np.arange(parts)
    return i * size // max(parts, 1), -((i + 1) * -size // max(parts, 1))


def members(size, parts):
    """(parts, elements of the longest): the places in each window, -1 beyond the end of the shorter ones."""
    start, stop = bounds(size, parts)
    ids = start[:, None] + np.arange((stop - start).max(initial=0))
    return np.where(ids < stop[:, None], ids, -1)


def means_along(x, dim, parts):
    """The means of `parts` windows that cover dim `dim`."""
    size = x.shape[dim]
    if parts == size:
        return x
    if parts and size % parts == 0:
        apart = flow.reshape(x, shape=(*x.shape[:dim], parts, size // parts, *x.shape[dim + 1 :]))
        return flow.mean(apart, dim=dim + 1)
    ids = members(size, parts)
    total = pick_along(x, dim, ids[:, 0]) if parts else pick_along(x, dim, np.zeros(0, np.int64))
    for column in ids.T[1:]:
        total = total + pick_along(x, dim, np.ascontiguousarray(column))
    number = np.asarray((ids >= 0).sum(1), x.dtype).reshape(-1, *[1] * (x.ndim - dim - 1))
    return total / flow.from_numpy(number)


def average(name, x, output_size, num_dims):
    x, single = batched(name, x, num_dims)
    if x.dtype.kind not in "fcV":
        raise TypeError(f"{name}: input {x.spec} is not of a float type; cast it first, as in x.to(flow.float32)")
    size, out = target_size(name, x, output_size, num_dims), widened(x)
    for i, parts in enumerate(size):
        out = means_along(out, 2 + i, parts)
    return unbatched(as_type(out, x.dtype), single)


def adaptive_avg_pool1d(input, output_size):
    """The means of `output_size` windows that cover input (batch, channels, size), which may lack the batch.

    Window i is [floor(i size / out), ceil((i + 1) size / out)).
    """
    return average("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_avg_pool2d(input, output_size):
    """adaptive_avg_pool1d over height and width: output_size is an int or a pair, None in it keeps a size."""
    return average("adaptive_avg_pool2d", input, output_size, 2)


def adaptive_avg_pool3d(input, output_size):
    """adaptive_avg_pool2d with a depth before the height."""
    return average("adaptive_avg_pool3d", input, output_size, 3)


def chosen(x, ids, num_dims):
    """(the largest of the elements that each row of ids names, its place): ids (*lead, *out, members) in x's last dims, -1 for none.

    `lead` broadcasts to x's leading dims.
    """
    lead, flat = x.shape[: x.ndim - num_dims], flow.flatten(x, -num_dims)
    ids = np.broadcast_to(ids, (*ids.shape[: -num_dims - 1], *ids.shape[-num_dims - 1 :]))
    out, count = ids.shape[-num_dims - 1 : -1], ids.shape[-1]
    named = flow.from_numpy(np.ascontiguousarray(ids.reshape(*ids.shape[: -num_dims - 1], math.prod(out) * count)))
    # The place in the window is found without a gradient, and the element by its place: what is absent is never the largest.
    values = flow.reshape(flow.pick(flat.detach(), named), shape=(*lead, *out, count))
    exists = flow.from_numpy(ids >= 0)
    low = -math.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    which = flow.argmax(flow.where(exists, values, low), dim=-1, keepdim=True)
    whole = flow.expand(flow.from_numpy(np.ascontiguousarray(ids)), shape=values.shape)
    places = flow.reshape(flow.gather(whole, -1, which), shape=(*lead, *out))
    return flow.reshape(flow.pick(flat, flow.flatten(places, -num_dims)), shape=places.shape), places


def product_ids(parts, size):
    """Row-major places in `size` from the places (*, out, members) along each dim: (*, *outs, members of all)."""
    ids = parts[0]
    for part, n in zip(parts[1:], size[1:], strict=True):
        d = part.ndim - 2  # leading dims, the same for all
        outs = ids.shape[d:-1]
        a = ids.reshape(*ids.shape[:d], *outs, 1, ids.shape[-1], 1)
        b = part.reshape(*part.shape[:d], *[1] * len(outs), part.shape[-2], 1, part.shape[-1])
        both = np.where((a < 0) | (b < 0), -1, a * n + b)
        ids = both.reshape(*both.shape[:-2], both.shape[-2] * both.shape[-1])
    return ids


def largest(name, x, output_size, num_dims):
    x, single = batched(name, x, num_dims)
    if x.dtype.kind not in "iufV":
        raise TypeError(f"{name}: input {x.spec} must hold real numbers")
    size = target_size(name, x, output_size, num_dims)
    if 0 in size or not x.spec.size:
        empty = flow.zeros(*x.shape[:2], *size, dtype=x.dtype)
        return unbatched(empty, single), unbatched(flow.cast(empty, dtype=flow.int64), single)
    ids = product_ids([members(n, parts) for n, parts in zip(x.shape[2:], size, strict=True)], x.shape[2:])
    values, places = chosen(x, ids, num_dims)
    return unbatched(values, single), unbatched(places, single)


def max_pools(num_dims):
    """(adaptive_max_poolNd, adaptive_max_poolNd_with_indices)."""
    name = f"adaptive_max_pool{num_dims}d"

    def with_indices(input, output_size, return_indices=False):
        return largest(name, input, output_size, num_dims)

    def pool(input, output_size, return_indices=False):
        values, places = with_indices(input, output_size)
        return (values, places) if return_indices else values

    pool.__name__, with_indices.__name__ = name, f"{name}_with_indices"
    pool.__doc__ = f"""The largest elements of the windows of adaptive_avg_pool{num_dims}d; with return_indices also their int64
    row-major places in the dims of size."""
    with_indices.__doc__ = f"(the elements, their places), as {name} with return_indices."
    return pool, with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = max_pools(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = max_pools(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = max_pools(3)


def steps(sample, size, out, kernel):
    """The starts (*, out) of pseudo-random windows. Graham, "Fractional max-pooling", 1412.6071, section 2."""
    if out == 1:
        return np.full((*sample.shape, 1), size - kernel, np.int64)
    alpha = sample.dtype.type((size - kernel) / (out - 1))
    i = np.arange(out - 1, dtype=sample.dtype)
    start = (
        np.floor((i + sample[..., None]) * alpha).astype(np.int64)
        - np.floor(sample * alpha).astype(np.int64)[..., None]
    )
    return np.concatenate([start, np.full((*sample.shape, 1), size - kernel, np.int64)], -1)


def fractional(name, x, kernel_size, output_size, output_ratio, samples, num_dims):
    x, single = batched(name, x, num_dims)
    kernel = ints(name, "kernel_size", kernel_size, num_dims, 1, False)
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}: give one of output_size and output_ratio")
    if output_size is None:
        ratio = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * num_dims
        if len(ratio) != num_dims or not all(0 < r < 1 for r in ratio):
            raise ValueError(f"{name}: output_ratio {ratio} is not {num_dims} numbers between 0 and 1")
        output_size = [int(n * r) for n, r in zip(x.shape[2:], ratio, strict=True)]
    size = ints(name, "output_size", output_size, num_dims, 1, False)
    for n, k, o in zip(x.shape[2:], kernel, size, strict=True):
        if o + k - 1 > n or (num_dims == 3 and o + k - 1 == n):  # PyTorch wants one element to spare in volumes
            raise ValueError(f"{name}: {size} windows of {kernel} are too many for input {x.spec}")
    if samples is None:
        samples = flow.rand(*x.shape[:2], num_dims, dtype=flow.float64 if x.dtype is flow.float64 else flow.float32)
    if samples.shape != (*x.shape[:2], num_dims):
        raise ValueError(f"{name}: _random_samples {samples.spec} must be {(*x.shape[:2], num_dims)}")
    drawn = samples.detach().numpy()
    # Two dims are drawn with the width first, three with the depth first.
    order = (1, 0) if num_dims == 2 else (0, 1, 2)
    starts = [steps(drawn[..., order[d]], x.shape[2 + d], size[d], kernel[d]) for d in range(num_dims)]
    ids = product_ids([s[..., None] + np.arange(k) for s, k in zip(starts, kernel, strict=True)], x.shape[2:])
    values, places = chosen(x, ids, num_dims)
    return unbatched(values, single), unbatched(places, single)


def fractional_max_pools(num_dims):
    """(fractional_max_poolNd, fractional_max_poolNd_with_indices)."""
    name = f"fractional_max_pool{num_dims}d"

    def with_indices(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        return fractional(name, input, kernel_size, output_size, output_ratio, _random_samples, num_dims)

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        found = with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
        return found if return_indices else found[0]

    pool.__name__, with_indices.__name__ = name, f"{name}_with_indices"
    pool.__doc__ = f"""The largest elements of `output_size` (or output_ratio of the size) windows of kernel_size in input (batch,
    channels, {num_dims} dims of size), which lie at pseudo-random distances (Graham, 1412.6071); with return_indices also their places.

    _random_samples (batch, channels, {num_dims}) in [0, 1) fixes the windows."""
    with_indices.__doc__ = f"(the elements, their places), as {name} with return_indices."
    return pool, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = fractional_max_pools(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = fractional_max_pools(3)

__all__ = [
    *[f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)],
    *[f"adaptive_max_pool{n}d_with_indices" for n in (1, 2, 3)],
    *[f"fractional_max_pool{n}d{end}" for n in (2, 3) for end in ("", "_with_indices")],
]
