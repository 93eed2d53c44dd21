"""Windows of a tensor and what they are gathered by: the ops that pools, unfold, padding and sampling are made of."""

import numpy as np

from flow_core.dtype import CATEGORIES, float32, int64
from flow_core.op import Checked, define
from flow_core.ops.conv import add_back, as_padding, as_steps, pads, places_of, windows_of
from flow_core.spec import as_count, as_shape, num_elements


def windows_kernel(x, /, *, kernel, stride, padding, dilation):
    return lambda a: windows_of(pads(a, padding), kernel, stride, dilation)


def window_attrs(name, size, kernel, stride, padding, dilation):
    """The attributes in normal form and the number of windows in each dim."""
    n = len(kernel)
    attrs = {
        "kernel": as_steps(name, "kernel", kernel, n),
        "stride": as_steps(name, "stride", stride, n),
        "padding": as_padding(name, padding, n),
        "dilation": as_steps(name, "dilation", dilation, n),
    }
    return attrs, places_of(name, size, *attrs.values())


def check_windows(name, x, kernel, stride, padding, dilation):
    kernel = as_shape(name, kernel)
    if not kernel or x.ndim < len(kernel):
        raise ValueError(f"{name}: {x} has no {len(kernel)} dims for windows of {kernel}")
    lead = x.shape[: x.ndim - len(kernel)]
    attrs, places = window_attrs(name, x.shape[len(lead) :], kernel, stride, padding, dilation)
    return lead, places, attrs


@define(windows_kernel, linear=(0,))
def windows(x, /, *, kernel, stride, padding, dilation):
    """The windows of x's last dims, padded with zeros: x (*lead, *size) gives (*lead, *places, *kernel). Read-only, a view where it can be.

    The attributes are tuples with an entry for each of those dims; padding has pairs (low, high), which cut where negative.
    """
    lead, places, attrs = check_windows("windows", x, kernel, stride, padding, dilation)
    return Checked(x.with_shape((*lead, *places, *attrs["kernel"])), attrs)


def add_windows_kernel(g, /, *, size, stride, padding, dilation):
    wide = float32 if g.dtype.itemsize == 2 and CATEGORIES[g.dtype] == 2 else g.dtype

    def run(a):
        return np.ascontiguousarray(add_back(a.astype(wide, copy=False), size, stride, padding, dilation), g.dtype)

    return run


@define(add_windows_kernel, linear=(0,))
def add_windows(g, /, *, size, stride, padding, dilation):
    """The adjoint of `windows`: g (*lead, *places, *kernel) added up where its windows lie in (*lead, *size)."""
    size = as_shape("add_windows", size)
    n = len(size)
    if not n or g.ndim < 2 * n:
        raise ValueError(f"add_windows: {g} has no {2 * n} dims of places and kernel for size {size}")
    kernel, given = g.shape[g.ndim - n :], g.shape[g.ndim - 2 * n : g.ndim - n]
    attrs, places = window_attrs("add_windows", size, kernel, stride, padding, dilation)
    if given != places:
        raise ValueError(f"add_windows: {g} holds {given} windows, and size {size} has {places}")
    del attrs["kernel"]
    return Checked(g.with_shape((*g.shape[: g.ndim - 2 * n], *size)), {"size": size, **attrs})


def lowest(dtype):
    """A number that no element of a real `dtype` is below."""
    return -np.inf if CATEGORIES[dtype] == 2 else np.iinfo(dtype).min if CATEGORIES[dtype] == 1 else False


def every(array, dim, start, count, step):
    """A view of `count` elements along `dim`, every `step` from `start`."""
    return array[(*[slice(None)] * dim, slice(start, start + (count - 1) * step + 1 if count else start, step))]


def larger(a, best):
    """Where a is above best, or the first of them that is NaN."""
    return (a > best) | ((a != a) & (best == best))


def every_argmax(a, dims):
    """The row-major place of the first largest element of each window of a's last dims; -1 for padding where it was largest.

    `dims` are (size, kernel, stride, padding, dilation). Dim by dim from the last: the largest of the largest elements, and for each
    dim so far the tap that it was found at.
    """
    lead, taps = a.ndim - len(dims), []
    careful = a.dtype.kind == "f" and bool(np.isnan(a).any())
    for d, (size, k, s, (low, high), step) in reversed([*enumerate(dims)]):
        dim, count = lead + d, (size + low + high - step * (k - 1) - 1) // s + 1
        best = every(a, dim, 0, count, s)
        tap = np.zeros(best.shape, np.min_scalar_type(k))
        for j in range(1, k):
            value = every(a, dim, j * step, count, s)
            more = larger(value, best) if careful else value > best
            best = np.maximum(best, value)
            np.maximum(tap, more * tap.dtype.type(j), out=tap)  # of growing numbers the last that was set
        taps = [at_tap(t, tap, dim, k, s, step, count) for t in taps]
        taps.insert(0, tap)
        a = best
    places, exists = np.zeros(a.shape, np.int64), True
    for tap, (d, (size, _, s, (low, high), step)) in zip(taps, enumerate(dims), strict=True):
        start = (np.arange(a.shape[lead + d]) * s - low).reshape(-1, *[1] * (len(dims) - 1 - d))
        at = tap.astype(np.int64) * step + start if step > 1 else tap + start
        if low > 0 or high > 0:
            exists = exists & (at >= 0) & (at < size)
        places *= size
        places += at
    return places if exists is True or exists.all() else np.where(exists, places, -1)


def at_tap(values, tap, dim, kernel, stride, dilation, count):
    """For each window along `dim` the value at its tap."""
    out = every(values, dim, 0, count, stride)
    for j in range(1, kernel):
        out = np.where(tap == j, every(values, dim, j * dilation, count, stride), out)
    return out


def window_argmax_kernel(x, /, *, kernel, stride, padding, dilation):
    n = len(kernel)
    size = x.shape[x.ndim - n :]
    wide = float32 if CATEGORIES[x.dtype] == 2 and x.dtype.itemsize == 2 else x.dtype
    dims = [*zip(size, kernel, stride, padding, dilation, strict=True)]

    def run(a):
        a = pads(a.astype(wide, copy=False), padding, lowest(x.dtype))
        found = every_argmax(a, dims)
        if found.size and found.min() < 0:  # elements as low as the padding: the first of them that is none
            flat = pads(np.arange(num_elements(size)).reshape(size), padding, -1)
            ids = windows_of(flat, kernel, stride, dilation)
            ids = ids.reshape(*ids.shape[:n], num_elements(kernel))
            first = np.take_along_axis(ids, (ids >= 0).argmax(-1)[..., None], -1)[..., 0]
            found = np.where(found < 0, first, found)
        return found

    return run


@define(window_argmax_kernel)
def window_argmax(x, /, *, kernel, stride, padding, dilation):
    """Where the first largest element of each window lies, int64 (*lead, *places): its row-major place in the dims of the windows.

    Padding is never chosen (-1 in a window of padding alone); the attributes are as those of `windows`.
    """
    if CATEGORIES[x.dtype] == 3:
        raise TypeError(f"window_argmax: {x} holds complex numbers, which have no order")
    lead, places, attrs = check_windows("window_argmax", x, kernel, stride, padding, dilation)
    return Checked(x.with_shape((*lead, *places)).with_dtype(int64), attrs)


def check_ids(name, ids, count):
    """IndexError if an id is not in [-1, count)."""
    if ids.size and (ids.min() < -1 or ids.max() >= count):
        bad = ids[(ids < -1) | (ids >= count)].flat[0]
        raise IndexError(f"{name}: index {bad} is out of range for {count} elements")


def check_lead(name, x, ids):
    if CATEGORIES[ids.dtype] != 1:
        raise TypeError(f"{name}: indices are {ids}, expected an integer type")
    fits = ids.ndim and x.ndim >= ids.ndim
    lead = x.shape[x.ndim - ids.ndim : -1] if fits else ()
    if not fits or any(i not in (1, n) for i, n in zip(ids.shape[:-1], lead, strict=True)):
        raise ValueError(f"{name}: the leading dims of indices {ids} do not broadcast to those of {x}")


def pick_kernel(x, ids, /):
    shape = (*x.shape[:-1], ids.shape[-1])

    def run(a, i):
        check_ids("pick", i, x.shape[-1])
        if not x.shape[-1]:
            return np.zeros(shape, x.dtype)
        i = i.astype(np.intp, copy=False)
        if i.ndim == 1:
            out = np.take(a, i, axis=-1)
        else:
            out = np.take_along_axis(a, np.broadcast_to(i, shape), axis=-1)
        return np.where(i < 0, np.zeros((), x.dtype), out) if i.size and i.min() < 0 else out

    return run


@define(pick_kernel, linear=(0,))
def pick(x, ids, /):
    """out[..., j] = x[..., ids[..., j]], and zero where the id is -1: x (*lead, n), ids (integers, of leading dims that broadcast to x's).

    Shape (*lead, ids' last size). IndexError for an id not in [-1, n).
    """
    check_lead("pick", x, ids)
    return x.with_shape((*x.shape[:-1], ids.shape[-1]))


def added_together(a, ids, n):
    """a (rows, m) added up in zeros (rows, n) at ids (m,), which are the same for all rows: the k-th of each name at once."""
    kept = np.flatnonzero(ids >= 0)
    order = kept[np.argsort(ids[kept], kind="stable")]
    names, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
    out, most = np.zeros((a.shape[0], n), a.dtype), counts.max(initial=0)
    if most > 16:
        out[:, names] = np.add.reduceat(a[:, order], starts, axis=1)
        return out
    columns = np.full((most, n), a.shape[1])  # of a with a column of zeros beside it, for names that come less often
    columns[np.arange(len(order)) - np.repeat(starts, counts), ids[order]] = order
    if (columns == a.shape[1]).any():
        a = np.concatenate([a, np.zeros((len(a), 1), a.dtype)], 1)
    for k in range(most):
        out += a.take(columns[k], axis=1)
    return out


def added_by_row(a, ids, n):
    """a (rows, m) added up in zeros (rows, n) at ids (rows, m). Floats are added in float64."""
    flat = (ids + np.arange(len(a))[:, None] * (n + 1)).reshape(-1)
    flat = np.where(ids.reshape(-1) < 0, flat + n + 1, flat)  # the last column takes what the id -1 drops
    size = len(a) * (n + 1)
    if a.dtype.kind == "f":
        out = np.bincount(flat, a.reshape(-1), size)
    else:
        out = np.zeros(size, a.dtype)
        np.add.at(out, flat, a.reshape(-1))
    return out.reshape(len(a), n + 1)[:, :n]


def place_kernel(g, ids, /, *, n):
    wide = float32 if g.dtype.itemsize == 2 and CATEGORIES[g.dtype] == 2 else g.dtype
    rows = num_elements(g.shape[:-1])

    def run(a, i):
        check_ids("place", i, n)
        a = a.astype(wide, copy=False).reshape(rows, g.shape[-1])
        i = i.astype(np.intp, copy=False)
        if i.size == i.shape[-1]:
            out = added_together(a, i.reshape(-1), n)
        else:
            out = added_by_row(a, np.broadcast_to(i, g.shape).reshape(a.shape), n)
        return np.ascontiguousarray(out, g.dtype).reshape(*g.shape[:-1], n)

    return run


@define(place_kernel, linear=(0,))
def place(g, ids, /, *, n):
    """The adjoint of `pick`: g (*lead, m) added up in a tensor (*lead, n) at its ids; what has the id -1 is dropped."""
    n = as_count("place", "n", n)
    if CATEGORIES[g.dtype] == 0:
        raise TypeError(f"place: {g} holds bools; cast it to numbers first")
    check_lead("place", g, ids)
    if g.shape[-1] != ids.shape[-1]:
        raise ValueError(f"place: {g} and indices {ids} must agree in their last dim")
    return Checked(g.with_shape((*g.shape[:-1], n)), {"n": n})


def put_kernel(x, ids, /, *, n):
    rows = num_elements(x.shape[:-1])

    def run(a, i):
        check_ids("put", i, n)
        out = np.zeros((rows, n + 1), x.dtype)  # the last column takes what the id -1 drops
        i = np.broadcast_to(i.astype(np.intp, copy=False), x.shape).reshape(rows, x.shape[-1])
        out[np.arange(rows)[:, None], i] = a.reshape(i.shape)
        return np.ascontiguousarray(out[:, :n]).reshape(*x.shape[:-1], n)

    return run


@define(put_kernel, linear=(0,))
def put(x, ids, /, *, n):
    """Zeros (*lead, n) with x (*lead, m) written at its ids; where ids repeat the last counts, and what has the id -1 is dropped.

    Its gradient gives every element that of its place: right where ids do not repeat, and for copies of one element that ids repeat.
    """
    n = as_count("put", "n", n)
    check_lead("put", x, ids)
    if x.shape[-1] != ids.shape[-1]:
        raise ValueError(f"put: {x} and indices {ids} must agree in their last dim")
    return Checked(x.with_shape((*x.shape[:-1], n)), {"n": n})
