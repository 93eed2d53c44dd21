"""Different elements and how often they occur; histograms. All results are without gradient."""

import numpy as np

from flow_core.dtype import CATEGORIES, float32, float64, int64
from flow_core.functions.subscript import plain, require_tensors
from flow_core.spec import as_dim
from flow_core.tensor import from_numpy

HISTOGRAM_DTYPES = (float32, float64)


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements of x, rising; with a dim, its different slices, in lexicographic order. NaN equals nothing.

    With return_inverse also, for each element (or slice), the place of what it equals; with return_counts also how often each occurs:
    then a tuple. They are sorted without `sorted` too.
    """
    array, dim = slices("unique", x, dim)
    if dim is None:
        order = np.argsort(array, kind="stable")
    elif array.shape[1]:
        order = np.lexsort(array.T[::-1])
    else:
        order = np.arange(len(array))
    return runs(x, array, order, dim, return_inverse, return_counts)


def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    """x without the elements (or the slices along `dim`) that equal the one before them; inverse and counts as in `unique`."""
    array, dim = slices("unique_consecutive", x, dim)
    return runs(x, array, np.arange(len(array)), dim, return_inverse, return_counts)


def slices(name, x, dim):
    """(the elements, or the slices along `dim` as rows; the dim from the front)."""
    array = plain(name, x)
    if CATEGORIES[x.dtype] == 3:
        raise TypeError(f"{name}: {x.spec} holds complex numbers, which have no order")
    if dim is None:
        return array.reshape(-1), None
    dim = as_dim(name, dim, x.ndim)
    if x.ndim and not x.spec.size and (x.shape[dim] or x.shape.count(0) > 1):
        raise ValueError(f"{name}: {x.spec} has slices without elements along dim {dim}, which are all alike")
    if not x.ndim:
        return array.reshape(1, 1), dim
    moved = np.moveaxis(array, dim, 0)
    return moved.reshape(len(moved), -1) if array.size else np.zeros((0, 1), array.dtype), dim


def runs(x, array, order, dim, return_inverse, return_counts):
    """What unique returns, of elements or rows that an order brings together."""
    placed = array[order]
    differs = placed[1:] != placed[:-1]
    first = np.ones(len(placed), bool)
    first[1:] = differs if dim is None else differs.any(1)
    starts = np.flatnonzero(first)
    if dim is None:
        values = placed[starts]
    elif x.ndim:
        values = np.ascontiguousarray(np.take(x.data, order[starts], dim))
    else:
        values = x.data.reshape(1).copy()
    out = [from_numpy(values)]
    if return_inverse:
        inverse = np.empty(len(placed), int64)
        inverse[order] = np.cumsum(first) - 1
        out.append(from_numpy(inverse.reshape(x.shape) if dim is None else inverse))
    if return_counts:
        out.append(from_numpy(np.diff(np.append(starts, len(placed))).astype(int64)))
    return tuple(out) if len(out) > 1 else out[0]


MOST_BINS = 2**40


def bincount(input, weights=None, minlength=0):
    """How often each of 0, 1, ... occurs in a vector of integers of 0 or more, int64; with weights their sums, float64 or float32.

    `minlength` counts at least; more if the largest element asks for it.
    """
    array = plain("bincount", input)
    if CATEGORIES[input.dtype] != 1:
        raise TypeError(f"bincount: {input.spec} is not of an integer type")
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise ValueError(f"bincount: {input.spec} must be a vector without negative elements")
    if isinstance(minlength, bool) or not isinstance(minlength, int) or minlength < 0:
        raise ValueError(f"bincount: minlength is {minlength!r}, expected an int of 0 or more")
    largest = max(minlength - 1, int(array.max()) if array.size else -1)
    if largest >= MOST_BINS:  # numpy's own count of bins overflows, and it writes where it must not
        raise ValueError(f"bincount: {input.spec} asks for {largest + 1} bins, which no memory holds")
    if weights is None:
        return from_numpy(np.bincount(array.astype(int64), minlength=minlength).astype(int64))
    require_tensors("bincount", weights=weights)
    if weights.shape != input.shape:
        raise ValueError(f"bincount: weights {weights.spec} must have the shape of {input.spec}")
    values = plain("bincount", weights).astype(float64)
    counts = np.bincount(array.astype(int64), values, minlength)
    return from_numpy(counts.astype(float32 if weights.dtype is float32 else float64))


def require_histogram_dtype(name, x):
    if x.dtype not in HISTOGRAM_DTYPES:
        raise TypeError(f"{name}: {x.spec} is not of float32 or float64")


def as_bins(name, bins):
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"{name}: bins is {bins!r}, expected an int of 1 or more")
    return bins


def bounds(name, array, low, high):
    """The range of a histogram; (0, 0), or none, is that of the elements. Of one point, it reaches 1 to either side for all of them."""
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{name}: the range from {low} to {high} is not finite")
    if low > high:
        raise ValueError(f"{name}: the range from {low} to {high} is empty")
    return low, high


def bin_of(array, edges, even):
    """The bin of each element between rising edges, the last one closed; -1 for what lies in none (NaN too)."""
    bins = len(edges) - 1
    inside = (array >= edges[0]) & (array <= edges[-1])
    if even:
        low, high = edges[0], edges[-1]
        with np.errstate(all="ignore"):
            found = ((array - low) * array.dtype.type(bins) / (high - low)).astype(int64, casting="unsafe")
        found = np.clip(found, 0, bins - 1)
        # The division may have rounded over an edge.
        found = np.where(inside & (array < edges[found]), found - 1, found)
        found = np.where(inside & (found < bins - 1) & (array >= edges[np.minimum(found + 1, bins)]), found + 1, found)
    else:
        found = np.minimum(np.searchsorted(edges, array, "right") - 1, bins - 1)
    return np.where(inside, found, -1)


def even_edges(low, high, bins, dtype):
    """bins + 1 edges from low to high."""
    return np.linspace(low, high, bins + 1).astype(dtype)


def histc(input, bins=100, min=0, max=0):
    """How many elements of `input` (floats) lie in each of `bins` equal parts from min to max, in its dtype; those outside do not count.

    min and max of the elements where both are equal. The last bin is closed.
    """
    array = plain("histc", input)
    if CATEGORIES[input.dtype] != 2:
        raise TypeError(f"histc: {input.spec} is not of a float type")
    bins = as_bins("histc", bins)
    wide = float32 if input.dtype.itemsize == 2 else input.dtype
    array = array.reshape(-1).astype(wide)
    low, high = bounds("histc", array, float(min), float(max))
    found = bin_of(array, even_edges(low, high, bins, wide), True)
    return from_numpy(np.bincount(found[found >= 0], minlength=bins).astype(input.dtype))


def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): how many elements of `input` lie between each two edges, or the sum of their weights.

    `bins` is a number of equal bins in `range` (low, high; the elements' by default), or a rising vector of edges. The last bin is
    closed. With `density` each is divided by the whole and by its width.
    """
    require_histogram_dtype("histogram", input)
    flat = plain("histogram", input).reshape(-1, 1)
    given = bins if hasattr(bins, "spec") else [bins]
    hist, edges = counted(
        "histogram", input, flat, given if isinstance(given, list) else [given], range, weight, density
    )
    return hist, edges[0]


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges) of the points (..., dims) of `input`: how many lie in each box of a grid, and the edges along each dim.

    `bins` is a number for all dims, one for each, or vectors of edges; `range` holds low and high for each dim in one sequence.
    """
    require_histogram_dtype("histogramdd", input)
    array = plain("histogramdd", input)
    if array.ndim < 2:
        raise ValueError(f"histogramdd: {input.spec} must have two dims at least, the last one that of the coordinates")
    num_dims = array.shape[-1]
    given = list(bins) if isinstance(bins, (tuple, list)) else [bins] * num_dims
    if len(given) != num_dims:
        raise ValueError(f"histogramdd: {len(given)} bins given for {num_dims} coordinates")
    hist, edges = counted("histogramdd", input, array.reshape(-1, num_dims), given, range, weight, density)
    return hist, edges


def counted(name, input, points, bins, range, weight, density):
    """(hist, tuple of edges) of points (n, dims)."""
    dtype, num_dims = input.dtype, points.shape[1]
    if range is not None and (len(range) != 2 * num_dims):
        raise ValueError(f"{name}: range {range} must hold low and high for each of {num_dims} dims")
    edges, places = [], []
    for d, given in enumerate(bins):
        even = not hasattr(given, "spec")
        if even:
            low, high = (0.0, 0.0) if range is None else (float(range[2 * d]), float(range[2 * d + 1]))
            if range is None and not points.size:
                low, high = 0.0, 1.0
            low, high = spread(name, points[:, d], low, high)
            edges.append(even_edges(low, high, as_bins(name, given), dtype))
        else:
            edges.append(given_edges(name, given, input))
        places.append(bin_of(points[:, d], edges[-1], even))
    shape = tuple([len(e) - 1 for e in edges])
    inside = np.all([p >= 0 for p in places], axis=0) if places else np.zeros(len(points), bool)
    flat = np.ravel_multi_index([p[inside] for p in places], shape)
    weights = None if weight is None else as_weights(name, input, weight, len(points))[inside]
    hist = np.bincount(flat, weights, int(np.prod(shape))).reshape(shape).astype(float64)
    if density:
        with np.errstate(all="ignore"):
            hist = hist / hist.sum()
            for d, e in enumerate(edges):
                hist = hist / np.diff(e.astype(float64)).reshape([-1 if i == d else 1 for i in np.arange(num_dims)])
    return from_numpy(hist.astype(dtype)), tuple([from_numpy(e) for e in edges])


def spread(name, column, low, high):
    """The range of one dim, half a unit to either side of a single point."""
    if low == high == 0 and column.size:
        low, high = float(column.min()), float(column.max())
    if not (np.isfinite(low) and np.isfinite(high)) or low > high:
        raise ValueError(f"{name}: the range from {low} to {high} is not finite and rising")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def given_edges(name, given, input):
    """The edges that a tensor holds; as in PyTorch it is left to the caller that they rise, and nothing falls between others."""
    edges = plain(name, given)
    if given.dtype is not input.dtype:
        raise TypeError(f"{name}: edges {given.spec} must have the dtype of {input.spec}")
    if edges.ndim != 1 or edges.size < 2:
        raise ValueError(f"{name}: edges {given.spec} must be a vector of two or more")
    return np.array(edges)


def as_weights(name, input, weight, count):
    """The weights as float64, one a point."""
    require_tensors(name, weight=weight)
    if weight.dtype is not input.dtype:
        raise TypeError(f"{name}: weight {weight.spec} must have the dtype of {input.spec}")
    if weight.spec.size != count:
        raise ValueError(f"{name}: weight {weight.spec} must have an element for each of {count} points")
    return plain(name, weight).reshape(-1).astype(float64)


FUNCTIONS = {f.__name__: f for f in (unique, unique_consecutive, bincount, histc, histogram, histogramdd)}
METHODS = {name: f for name, f in FUNCTIONS.items() if name != "histogramdd"}
