"""Pools over windows of a fixed size: means, power means, and largest elements, with their undoing."""

import math

import numpy as np

import flow_core as flow
from flow_core.ops.window import put
from flow_nn.functional.geometry import as_type, batched, ints, require_float, unbatched, widened


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows lie in a dim. With ceil_mode one more may reach over the end, if it begins before the padding there."""
    rest = size + 2 * padding - dilation * (kernel - 1) - 1
    places = (rest + (stride - 1 if ceil_mode else 0)) // stride + 1
    return places - 1 if ceil_mode and (places - 1) * stride >= size + padding else places


def geometry(name, x, kernel_size, stride, padding, dilation, ceil_mode, num_dims):
    """(kernel, stride, padding, dilation, ends): `ends` are the pairs of padding with which the windows of ceil_mode fit too."""
    kernel = ints(name, "kernel_size", kernel_size, num_dims, 1)
    stride = kernel if stride is None or stride in ((), []) else ints(name, "stride", stride, num_dims, 1)
    padding = ints(name, "padding", padding, num_dims, 0)
    dilation = ints(name, "dilation", dilation, num_dims, 1)
    ends = []
    for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True):
        if 2 * p > d * (k - 1) + 1:
            raise ValueError(
                f"{name}: padding {padding} is more than half of kernel_size {kernel} with dilation {dilation}"
            )
        places = pooled_size(n, k, s, p, d, ceil_mode)
        if places < 1:
            raise ValueError(
                f"{name}: a kernel of {kernel} with dilation {dilation} is larger than input {x.spec} with padding {padding}"
            )
        ends.append((p, max((places - 1) * s + d * (k - 1) + 1 - n - p, p) if ceil_mode else p))
    if 0 in x.shape[1:]:
        raise ValueError(f"{name}: input {x.spec} has an empty dim other than the batch")
    return kernel, stride, padding, dilation, tuple(ends)


def counts(size, kernel, stride, padding, ends, inside):
    """The elements of each window that count, an array of the places' shape: of the tensor alone, or of its padding too."""
    whole = np.ones((), np.int64)
    for n, k, s, p, (low, high) in zip(size, kernel, stride, padding, ends, strict=True):
        start = np.arange((n + low + high - k) // s + 1) * s - low
        stop = np.minimum(start + k, n + p)
        here = np.minimum(stop, n) - np.maximum(start, 0) if inside else stop - start
        whole = whole[..., None] * here
    return whole


def window_mean(x, kernel, stride, ends, divisor):
    """The sums of the windows of x's last dims over `divisor`, a number or an array; for integers towards 0."""
    wide = widened(x)
    total = flow.window_sum(wide, kernel=kernel, stride=stride, padding=ends, dilation=(1,) * len(kernel))
    if x.dtype.kind in "iu":
        by = divisor if isinstance(divisor, int) else flow.from_numpy(np.asarray(divisor, np.int64))
        return as_type(flow.div(flow.cast(total, dtype=flow.float64), by).trunc(), x.dtype)
    by = divisor if isinstance(divisor, int) else flow.from_numpy(np.asarray(divisor, wide.dtype))
    return as_type(total / by, x.dtype)


def average(name, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, num_dims):
    x, single = batched(name, x, num_dims)
    kernel, stride, padding, _, ends = geometry(name, x, kernel_size, stride, padding, 1, ceil_mode, num_dims)
    if divisor_override is not None and (isinstance(divisor_override, bool) or not isinstance(divisor_override, int)):
        raise TypeError(f"{name}: divisor_override is {divisor_override!r}, expected an int")
    if divisor_override == 0:
        raise ValueError(f"{name}: divisor_override is 0")
    if num_dims == 3 and any(n < k for n, k in zip(x.shape[2:], kernel, strict=True)):
        raise ValueError(f"{name}: a kernel of {kernel} is larger than input {x.spec}")
    if x.dtype.kind not in "iufcV":
        raise TypeError(f"{name}: input {x.spec} holds bools; cast it to numbers first")
    divisor = divisor_override
    if divisor is None:
        divisor = math.prod(kernel)
        if any(max(pair) for pair in ends):
            divisor = counts(x.shape[2:], kernel, stride, padding, ends, not count_include_pad)
    return unbatched(window_mean(x, kernel, stride, ends, divisor), single)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The means of the windows of input (batch, channels, size), which may lack the batch: (batch, channels, places).

    stride is by default the kernel's size. Padding counts as zeros, or with count_include_pad False not at all; ceil_mode adds a
    window that reaches over the end. padding is at most half of the kernel.
    """
    return average("avg_pool1d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """avg_pool1d over height and width; divisor_override is divided by in place of the number of elements."""
    return average("avg_pool2d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """avg_pool2d with a depth before the height."""
    return average("avg_pool3d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def power_mean(name, x, norm_type, kernel_size, stride, ceil_mode, num_dims):
    require_float(name, x)
    kernel = ints(name, "kernel_size", kernel_size, num_dims, 1, False)
    mean = average(name, x**norm_type, kernel_size, stride, 0, ceil_mode, True, None, num_dims)
    return (flow.sign(mean) * flow.relu(flow.abs(mean)) * math.prod(kernel)) ** (1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x**norm_type)**(1 / norm_type) over the windows of avg_pool1d. With ceil_mode, windows over the end count as whole."""
    return power_mean("lp_pool1d", input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """lp_pool1d over height and width."""
    return power_mean("lp_pool2d", input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """lp_pool2d with a depth before the height."""
    return power_mean("lp_pool3d", input, norm_type, kernel_size, stride, ceil_mode, 3)


def largest(name, x, kernel_size, stride, padding, dilation, ceil_mode, num_dims):
    """(the largest element of each window, its row-major place in the dims of size)."""
    x, single = batched(name, x, num_dims)
    if x.dtype.kind not in "iufV":
        raise TypeError(f"{name}: input {x.spec} must hold real numbers")
    kernel, stride, _, dilation, ends = geometry(name, x, kernel_size, stride, padding, dilation, ceil_mode, num_dims)
    check_no_window_is_padding(name, x.shape[2:], kernel, stride, ends, dilation)
    ids = flow.window_argmax(x, kernel=kernel, stride=stride, padding=ends, dilation=dilation)
    return unbatched(picked(x, ids, num_dims), single), unbatched(ids, single)


def check_no_window_is_padding(name, size, kernel, stride, ends, dilation):
    """ValueError if every element of a window is padding: dilated ones can step over a small tensor, others hold an element always."""
    for n, k, s, (low, high), d in zip(size, kernel, stride, ends, dilation, strict=True):
        if d == 1 or not low + high:
            continue
        taps = np.arange((n + low + high - d * (k - 1) - 1) // s + 1)[:, None] * s - low + np.arange(k) * d
        if not ((taps >= 0) & (taps < n)).any(1).all():
            raise ValueError(
                f"{name}: kernel {kernel} with dilation {dilation} has a window of padding alone in size {size}"
            )


def picked(x, ids, num_dims):
    """The elements of x at `ids`, row-major places in its last dims."""
    flat = flow.flatten(x, -num_dims)
    return flow.reshape(flow.pick(flat, flow.flatten(ids, -num_dims)), shape=ids.shape)


def max_pools(num_dims):
    """(max_poolNd, max_poolNd_with_indices)."""
    name = f"max_pool{num_dims}d"

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return largest(name, input, kernel_size, stride, padding, dilation, ceil_mode, num_dims)

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        values, ids = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return (values, ids) if return_indices else values

    pool.__name__, with_indices.__name__ = name, f"{name}_with_indices"
    dims = {1: "size", 2: "height, width", 3: "depth, height, width"}[num_dims]
    pool.__doc__ = f"""The largest elements of the windows of input (batch, channels, {dims}), which may lack the batch.

    stride is by default the kernel's size; padding, at most half of it, is never chosen; ceil_mode adds a window that reaches over
    the end. With return_indices a pair: the elements, and their int64 row-major places in ({dims})."""
    with_indices.__doc__ = f"(the elements, their places), as {name} with return_indices."
    return pool, with_indices


max_pool1d, max_pool1d_with_indices = max_pools(1)
max_pool2d, max_pool2d_with_indices = max_pools(2)
max_pool3d, max_pool3d_with_indices = max_pools(3)


def unpool(name, x, indices, kernel_size, stride, padding, output_size, num_dims):
    if indices.dtype is not flow.int64:
        raise TypeError(f"{name}: indices are {indices.spec}, expected int64")
    if indices.shape != x.shape:
        raise ValueError(f"{name}: indices {indices.spec} must have the shape of input {x.spec}")
    x, single = batched(name, x, num_dims)
    kernel = ints(name, "kernel_size", kernel_size, num_dims, 1)
    stride = kernel if stride is None or stride in ((), []) else ints(name, "stride", stride, num_dims, 1)
    padding = ints(name, "padding", padding, num_dims, 0)
    size = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(x.shape[2:], kernel, stride, padding, strict=True))
    if output_size is not None:
        size = chosen_size(name, tuple(output_size), size, stride)
    if any(n < 1 for n in size):
        raise ValueError(f"{name}: input {x.spec} with kernel {kernel} and padding {padding} gives a size of {size}")
    flat, ids = flow.flatten(x, 2), flow.reshape(indices, shape=(*x.shape[:2], math.prod(x.shape[2:])))
    out = put(flat, ids, n=math.prod(size))
    return unbatched(flow.reshape(out, shape=(*x.shape[:2], *size)), single)


def chosen_size(name, given, size, stride):
    """The size of the output from output_size, which may be a whole shape; ValueError unless it is within a stride of `size`."""
    given = given[2:] if len(given) == len(size) + 2 else given
    if len(given) != len(size):
        raise ValueError(
            f"{name}: output_size {given} must have {len(size)} entries, or {len(size) + 2} with batch and channels"
        )
    for g, n, s in zip(given, size, stride, strict=True):
        if not n - s < g < n + s:
            raise ValueError(f"{name}: output_size {given} must be within a stride {stride} of {size}")
    return given


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with input's elements at the places `indices` that max_pool1d returned: its partial inverse.

    The size is (places - 1) stride - 2 padding + kernel, or output_size where a pool could have come from several. IndexError for an
    index beyond it. Where windows shared an element each of its copies has its whole gradient.
    """
    return unpool("max_unpool1d", input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool1d over height and width."""
    return unpool("max_unpool2d", input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool2d with a depth before the height."""
    return unpool("max_unpool3d", input, indices, kernel_size, stride, padding, output_size, 3)


__all__ = [
    *[f"{kind}{n}d" for kind in ("avg_pool", "lp_pool", "max_pool", "max_unpool") for n in (1, 2, 3)],
    *[f"max_pool{n}d_with_indices" for n in (1, 2, 3)],
]
