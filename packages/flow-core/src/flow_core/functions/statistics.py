"""Medians, quantiles and covariances, in terms of ops."""

import math

from flow_core.dtype import CATEGORIES, float32, float64, int64
from flow_core.functions.reduction import ValuesAndIndices, kept_shape, rows
from flow_core.ops import along, binary, creation, decomposition, elementwise, index, linalg, reduce, shape, unary
from flow_core.spec import as_dim
from flow_core.tensor import tensor

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def place_of_median(x, dim, ignore_nan):
    """The int64 place along `dim`, which is kept, of the lower median; of a NaN, the first, unless they are ignored."""
    order = along.argsort(x, dim=dim)  # NaN last
    size = x.shape[dim]
    whole = reduce.sum(elementwise.eq(x, x), dim=dim, keepdim=True)
    middle = elementwise.where(elementwise.gt(whole, 0), binary.floor_divide(elementwise.sub(whole, 1), 2), 0)
    if not ignore_nan:
        middle = elementwise.where(elementwise.eq(whole, size), middle, whole)
    return along.gather(order, middle, dim=dim)


def median_of_all(name, input, ignore_nan):
    """The lower median of all elements; those equal to it share its gradient. NaN of no elements."""
    flat = shape.reshape(input, shape=(input.numel(),))
    if not input.numel():
        if CATEGORIES[input.dtype] != 2:
            raise ValueError(f"{name}: {input.spec} has no elements")
        return elementwise.add(reduce.sum(flat), math.nan)
    value = along.gather(flat, place_of_median(flat.detach(), 0, ignore_nan), dim=0)
    if CATEGORIES[input.dtype] == 2:
        ties = elementwise.eq(flat, value)
        value = reduce.amax(
            elementwise.where(ties, flat, elementwise.where(unary.isnan(value), value, -math.inf)), dim=0
        )
        return value
    return shape.squeeze(value, 0)


def median_along(name, input, dim, keepdim, ignore_nan):
    if CATEGORIES[input.dtype] in (0, 3):
        raise TypeError(f"{name}: {input.spec}, expected integers or floats")
    if dim is None:
        return median_of_all(name, input, ignore_nan)
    dim = as_dim(name, dim, input.ndim)
    if not input.ndim:
        return ValuesAndIndices(elementwise.cast(input, dtype=input.dtype), creation.zeros((), dtype=int64))
    if not input.shape[dim]:
        raise ValueError(f"{name}: {input.spec} has no elements in dim {dim}")
    places = place_of_median(input.detach(), dim, ignore_nan)
    out = kept_shape(input, (dim,), keepdim)
    return ValuesAndIndices(*[shape.reshape(t, shape=out) for t in (along.gather(input, places, dim=dim), places)])


def median(input, dim=None, keepdim=False):
    """The median, of an even number of elements the lower one; NaN if one is among them. With a dim, (values, indices) along it.

    TypeError for bools and complex numbers. Of all elements, those equal to the median share its gradient.
    """
    return median_along("median", input, dim, keepdim, False)


def nanmedian(input, dim=None, keepdim=False):
    """The median of the elements that are not NaN; NaN if all are."""
    return median_along("nanmedian", input, dim, keepdim, True)


def checked_quantile(name, input, q, interpolation):
    """q as a tensor of no dim or one. Errors for dtypes, dims and probabilities that do not fit."""
    if input.dtype not in (float32, float64):
        raise TypeError(f"{name}: input is {input.spec}, expected float32 or float64")
    if interpolation not in INTERPOLATIONS:
        raise ValueError(f"{name}: interpolation is {interpolation!r}, expected one of {', '.join(INTERPOLATIONS)}")
    if not hasattr(q, "spec"):
        if isinstance(q, bool) or not isinstance(q, (int, float)):
            raise TypeError(f"{name}: q is {q!r}, expected a number or a tensor")
        q = tensor(float(q), dtype=input.dtype)
    if q.ndim > 1 or q.dtype is not input.dtype:
        raise ValueError(f"{name}: q is {q.spec}, expected at most one dim and the dtype of input {input.spec}")
    if not bool(((q.data >= 0) & (q.data <= 1)).all()):
        raise ValueError(f"{name}: q is {q.tolist()}, expected numbers from 0 to 1")
    if not input.numel():
        raise ValueError(f"{name}: {input.spec} has no elements")
    return q


def quantiles(name, input, q, dim, keepdim, interpolation, ignore_nan):
    q = checked_quantile(name, input, q, interpolation)
    if dim is not None:
        dim = as_dim(name, dim, input.ndim)
    x, _, dims = rows(name, input, dim)  # (..., n)
    ordered = along.gather(x, along.argsort(x.detach(), dim=-1), dim=-1)
    whole = reduce.sum(elementwise.eq(x, x), dim=-1, keepdim=True)
    last = elementwise.cast(elementwise.sub(whole, 1), dtype=x.dtype)  # (..., 1)
    last = elementwise.where(elementwise.lt(last, 0), 0.0, last)
    places = elementwise.mul(shape.reshape(q, shape=(q.numel(),)), last)  # (..., number of q)
    if not ignore_nan:  # the greatest place then holds a NaN
        size = x.shape[-1]
        places = elementwise.where(elementwise.eq(whole, size), places, float(size - 1))
    out = picked(ordered, places, interpolation)
    shaped = shape.reshape(shape.permute(out, dims=(out.ndim - 1, *range(out.ndim - 1))),
                           shape=(q.numel(), *kept_shape(input, dims, keepdim)))  # fmt: skip
    return shaped if q.ndim else shape.squeeze(shaped, 0)


def picked(ordered, places, interpolation):
    """The elements of `ordered` along its last dim at `places`, which may lie between two."""

    def at(where):
        return along.gather(ordered, elementwise.cast(where.detach(), dtype=int64), dim=-1)

    if interpolation in ("lower", "higher", "nearest"):
        return at({"lower": unary.floor, "higher": unary.ceil, "nearest": unary.rint}[interpolation](places))
    below = unary.floor(places)
    low, high = at(below), at(unary.ceil(places))
    # Where the two are the same element, or the same infinity, there is nothing between them.
    gap = elementwise.where(elementwise.eq(low, high), 0.0, elementwise.sub(high, low))
    weight = 0.5 if interpolation == "midpoint" else elementwise.sub(places, below.detach())
    return elementwise.add(low, elementwise.mul(gap, weight))


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-quantiles along `dim` (of all elements without one): q from 0 to 1, a number, or a tensor of them, which leads in the result.

    A quantile between two elements is taken by `interpolation`: "linear", "lower", "higher", "midpoint" or "nearest". NaN where one is
    among the elements. float32 and float64 only.
    """
    return quantiles("quantile", input, q, dim, keepdim, interpolation, False)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-quantiles of the elements that are not NaN; NaN where all are."""
    return quantiles("nanquantile", input, q, dim, keepdim, interpolation, True)


def checked_weights(name, argument, weights, count, kinds):
    if weights is None:
        return
    if weights.ndim > 1 or weights.numel() != count:
        raise ValueError(f"{name}: {argument} is {weights.spec}, expected one dim of {count} observations")
    if CATEGORIES[weights.dtype] not in kinds:
        raise TypeError(f"{name}: {argument} is {weights.spec}, expected {'integers' if kinds == (1,) else 'floats'}")
    if bool((weights.data < 0).any()):
        raise ValueError(f"{name}: {argument} has a negative weight")


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances (variables, variables) of input (variables, observations); of one variable, its variance, of no dims.

    fweights (ints) say how often an observation counts, aweights (floats) how much. The sums are over the total weight - correction.
    ValueError for more dims, or weights that are negative or do not fit.
    """
    if input.ndim > 2:
        raise ValueError(f"cov: {input.spec} has {input.ndim} dims, expected 2 or fewer")
    if CATEGORIES[input.dtype] == 0:
        raise TypeError(f"cov: {input.spec}, expected numbers")
    x = input if input.ndim == 2 else shape.reshape(input, shape=(1, input.numel()))
    count = x.shape[1]
    checked_weights("cov", "fweights", fweights, count, (1,))
    checked_weights("cov", "aweights", aweights, count, (2,))
    x = elementwise.mul(x, 1.0) if CATEGORIES[x.dtype] < 2 else x
    weight = fweights if aweights is None else aweights if fweights is None else elementwise.mul(fweights, aweights)
    if weight is None:
        total = float(count)
        centred = elementwise.sub(x, elementwise.div(reduce.sum(x, dim=1, keepdim=True), total))
        scaled = centred
    else:
        weight = shape.reshape(weight, shape=(count,))
        total = reduce.sum(weight)
        mean = elementwise.div(reduce.sum(elementwise.mul(x, weight), dim=1, keepdim=True), total)
        centred = elementwise.sub(x, mean)
        scaled = elementwise.mul(centred, weight)
    if aweights is not None and correction:
        squares = elementwise.mul(weight, aweights)
        freedom = elementwise.sub(total, elementwise.mul(elementwise.div(reduce.sum(squares), total), correction))
    else:
        freedom = total - correction
    if hasattr(freedom, "spec"):
        freedom = elementwise.where(elementwise.lt(freedom, 0), 0.0 if CATEGORIES[freedom.dtype] > 1 else 0, freedom)
    else:
        freedom = max(freedom, 0.0)
    other = decomposition.conjugate(scaled) if scaled.dtype.kind == "c" else scaled
    out = elementwise.div(linalg.matmul(centred, shape.transpose(other, dim0=0, dim1=1)), freedom)
    return out if out.shape[0] != 1 else shape.reshape(out, shape=())


def corrcoef(input):
    """The correlations (variables, variables) of input (variables, observations), real and imaginary parts within [-1, 1]."""
    c = cov(input)
    if not c.ndim:
        return elementwise.div(c, c)
    n = c.shape[0]
    flat = shape.reshape(c, shape=(n * n,))
    spread = elementwise.sqrt(index.getitem(flat, slice(None, None, n + 1)))
    c = elementwise.div(elementwise.div(c, shape.unsqueeze(spread, -1)), spread)
    if c.dtype.kind == "c":
        return c
    c = elementwise.where(elementwise.gt(c, 1), 1.0, c)
    return elementwise.where(elementwise.lt(c, -1), -1.0, c)


# The names that flow_core takes over, all of which tensors have as methods too.
__all__ = "median nanmedian quantile nanquantile cov corrcoef".split()
METHODS = {name: globals()[name] for name in __all__}
