"""Functions that reduce dims or accumulate along one, in terms of ops."""

import builtins
from typing import NamedTuple

from flow_core.dtype import CATEGORIES, as_dtype, bool_, float32, int64
from flow_core.ops import along, elementwise, reduce, unary
from flow_core.ops.complex import view_as_complex, view_as_real
from flow_core.ops.shape import cat, reshape
from flow_core.spec import as_dim, as_dims, num_elements
from flow_core.tensor import Tensor


class ValuesAndIndices(NamedTuple):
    """What max, sort and their like return along a dim: the elements, and their int64 places."""

    values: Tensor
    indices: Tensor


class MinAndMax(NamedTuple):
    """What aminmax returns."""

    min: Tensor
    max: Tensor


def require_float(name, x):
    """TypeError unless x is of a float type."""
    if CATEGORIES[x.dtype] != 2:
        raise TypeError(f"{name}: {x.spec} is not of a float type; cast it first, as in x.to(flow.float32)")


def rows(name, x, dim):
    """(x with the dims in `dim` joined as the last, their number of elements, the dims)."""
    dims = as_dims(name, dim, x.ndim)
    kept = [d for d in range(x.ndim) if d not in dims]
    count = num_elements([x.shape[d] for d in dims])
    moved = x.permute(*kept, *dims) if x.ndim else x
    return reshape(moved, shape=(*[x.shape[d] for d in kept], count)), count, dims


def kept_shape(x, dims, keepdim):
    """The shape of a reduction over `dims`."""
    return tuple([1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims])


def prod(x, dim=None, keepdim=False, *, dtype=None):
    """The product over `dim` (one, or None for all); integers and bools give int64; 1 over no elements.

    By halves, so that the gradient is right beside zeros too.
    """
    x = elementwise.cast(x, dtype=int64 if CATEGORIES[x.dtype] < 2 and dtype is None else dtype or x.dtype)
    last, count, dims = rows("prod", x, dim)
    if count == 0:
        return reshape(reduce.sum(last, dim=-1), shape=kept_shape(x, dims, keepdim)) + 1
    while count > 1:
        half = count // 2
        front = elementwise.mul(last[..., :half], last[..., half : 2 * half])
        last = cat([front, last[..., 2 * half :]], dim=last.ndim - 1) if count % 2 else front
        count -= half
    return reshape(last, shape=kept_shape(x, dims, keepdim))


def logsumexp(x, dim, keepdim=False):
    """log(sum(exp(x))) over `dim` without overflow on the way; minus infinity over no elements. Integers give float32."""
    if CATEGORIES[x.dtype] < 2:
        x = elementwise.cast(x, dtype=float32)
    require_float("logsumexp", x)
    dims = as_dims("logsumexp", dim, x.ndim)
    if not num_elements([x.shape[d] for d in dims]):
        return elementwise.log(reduce.sum(elementwise.exp(x), dim=dims, keepdim=keepdim))
    top = reduce.amax(x.detach(), dim=dims, keepdim=True)
    top = elementwise.where(unary.isfinite(top), top, 0.0)  # infinite ones would leave inf - inf
    total = reduce.sum(elementwise.exp(elementwise.sub(x, top)), dim=dims, keepdim=True)
    return reshape(elementwise.add(elementwise.log(total), top), shape=kept_shape(x, dims, keepdim))


def named(dim, unbiased):
    """(dim, unbiased) of a call that may give `unbiased` in dim's place, as PyTorch's var(x, False)."""
    return (None, dim) if isinstance(dim, bool) else (dim, unbiased)


def var(x, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """The variance over `dim`: the sum of squared differences from the mean over (count - correction).

    `unbiased` True or False is correction 1 or 0. NaN where correction leaves nothing to divide by.
    """
    return var_mean(x, dim, unbiased=unbiased, correction=correction, keepdim=keepdim)[0]


def var_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """(var, mean) over `dim`. Of complex numbers, the variance is that of the real parts plus that of the imaginary ones."""
    if CATEGORIES[x.dtype] == 3:
        parts = view_as_real(x)
        dims = (
            tuple(range(x.ndim)) if dim is None or isinstance(dim, bool) or dim == () else as_dims("var", dim, x.ndim)
        )
        if isinstance(dim, bool):
            unbiased = dim
        spread, mean = var_mean(parts, dims, unbiased=unbiased, correction=correction, keepdim=keepdim)
        return reduce.sum(spread, dim=-1), view_as_complex(mean)
    require_float("var", x)
    dim, unbiased = named(dim, unbiased)
    if unbiased is not None:
        correction = int(unbiased)
    dims = as_dims("var", dim if dim != () else None, x.ndim)
    count = num_elements([x.shape[d] for d in dims])
    mean = reduce.mean(x, dim=dims, keepdim=True)
    centred = elementwise.sub(x, mean)
    total = reduce.sum(elementwise.mul(centred, centred), dim=dims, keepdim=keepdim)
    rest = builtins.max(count - correction, 0)
    spread = elementwise.div(total, float(rest)) if rest else elementwise.mul(elementwise.div(total, 0.0), 1.0)
    return spread, reshape(mean, shape=kept_shape(x, dims, keepdim))


def std(x, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """The square root of var."""
    return elementwise.sqrt(var(x, dim, unbiased=unbiased, correction=correction, keepdim=keepdim))


def std_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """(std, mean) over `dim`."""
    spread, mean = var_mean(x, dim, unbiased=unbiased, correction=correction, keepdim=keepdim)
    return elementwise.sqrt(spread), mean


def count_nonzero(x, dim=None):
    """The number of elements over `dim` that are not 0, int64."""
    return reduce.sum(elementwise.ne(x, 0), dim=dim)


def nansum(x, dim=None, keepdim=False, *, dtype=None):
    """The sum over `dim` of the elements that are not NaN, in `dtype` if it is given."""
    x = x if dtype is None else elementwise.cast(x, dtype=as_dtype(dtype))
    return reduce.sum(elementwise.where(elementwise.ne(x, x), 0, x), dim=dim, keepdim=keepdim)


def nanmean(x, dim=None, keepdim=False, *, dtype=None):
    """The mean over `dim` of the elements that are not NaN, in `dtype` if it is given; NaN over none."""
    x = x if dtype is None else elementwise.cast(x, dtype=as_dtype(dtype))
    require_float("nanmean", x)
    count = reduce.sum(elementwise.eq(x, x), dim=dim, keepdim=keepdim)
    return elementwise.div(nansum(x, dim, keepdim), elementwise.cast(count, dtype=x.dtype))


def argmin(x, dim=None, keepdim=False):
    """The int64 index of the first smallest element along `dim`, or in the flattened x without one."""
    order = elementwise.neg(x) if x.dtype.kind not in "ub" else elementwise.neg(elementwise.cast(x, dtype=int64))
    return reduce.argmax(order, dim=dim, keepdim=keepdim)


def extreme(name, x, dim, keepdim, all_of, place_of):
    """max or min: of all of x; of x and another tensor; or along one dim, with places."""
    if not hasattr(x, "spec"):
        raise TypeError(f"{name}: input is {x!r}, expected a tensor")
    if dim is None:
        return all_of(x)
    if hasattr(dim, "spec"):
        return (elementwise.maximum if name == "max" else elementwise.minimum)(x, dim)
    dim = as_dim(name, dim, x.ndim)
    if x.ndim and not x.shape[dim]:
        raise ValueError(f"{name}: {x.spec} has no elements in dim {dim}, and {name} of nothing is undefined")
    places = place_of(x, dim=dim, keepdim=True)
    values = along.gather(x, places, dim=dim)
    shape = kept_shape(x, (dim,), keepdim)
    return ValuesAndIndices(reshape(values, shape=shape), reshape(places, shape=shape))


def max(x, dim=None, keepdim=False):
    """The largest element; with a dim, (values, indices) along it, the first of equal ones; with a tensor, the elementwise maximum."""
    return extreme("max", x, dim, keepdim, reduce.amax, reduce.argmax)


def min(x, dim=None, keepdim=False):
    """The smallest element; with a dim, (values, indices) along it, the first of equal ones; with a tensor, the elementwise minimum."""
    return extreme("min", x, dim, keepdim, reduce.amin, argmin)


def aminmax(x, *, dim=None, keepdim=False):
    """(min, max) over `dim`, one or None for all."""
    return MinAndMax(reduce.amin(x, dim=dim, keepdim=keepdim), reduce.amax(x, dim=dim, keepdim=keepdim))


def sort(x, dim=-1, descending=False, stable=False):
    """(values, indices): x's elements along `dim` in rising (or falling) order; equal ones keep their order; NaN is largest."""
    places = along.argsort(x, dim=dim, descending=descending)
    return ValuesAndIndices(along.gather(elementwise.cast(x, dtype=x.dtype), places, dim=dim), places)


def msort(x):
    """x's rows in rising order, element by element."""
    return sort(x, 0).values


def topk(x, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest (or smallest) elements along `dim`, in order. ValueError for a k that it does not have."""
    dim = as_dim("topk", dim, x.ndim)
    size = x.shape[dim] if x.ndim else 1
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= size:
        raise ValueError(f"topk: k is {k!r}, expected an int from 0 to {size}, the size of dim {dim}")
    values, places = sort(x, dim, descending=largest)
    if not x.ndim:
        return ValuesAndIndices(values, places)
    first = tuple([slice(k) if d == dim else slice(None) for d in range(x.ndim)])
    return ValuesAndIndices(values[first], places[first])


def kthvalue(x, k, dim=-1, keepdim=False):
    """(value, index) of the k-th smallest element along `dim`, k from 1. ValueError for a k that it does not have."""
    dim = as_dim("kthvalue", dim, x.ndim)
    size = x.shape[dim] if x.ndim else 1
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= size:
        raise ValueError(f"kthvalue: k is {k!r}, expected an int from 1 to {size}, the size of dim {dim}")
    parts = sort(x, dim)
    if x.ndim:
        at = tuple([slice(k - 1, k) if d == dim else slice(None) for d in range(x.ndim)])
        parts = [part[at] for part in parts]
    shape = kept_shape(x, (dim,), keepdim)
    return ValuesAndIndices(*[reshape(part, shape=shape) for part in parts])


def sum_to_size(x, *size):
    """x summed over the dims that broadcasting `size` to x's shape would repeat. ValueError if it does not broadcast to it."""
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    lead = x.ndim - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, x.shape[lead:], strict=True)):
        raise ValueError(f"sum_to_size: size {size} does not broadcast to {x.spec}")
    dims = (*range(lead), *[lead + d for d, n in enumerate(size) if n == 1 and x.shape[lead + d] != 1])
    if not dims:
        return x if size else reduce.sum(x)
    return reshape(reduce.sum(x, dim=dims, keepdim=True), shape=size)


def diff(x, n=1, dim=-1):
    """The differences of neighbours along `dim`, n times over; of bools, whether they differ."""
    dim = as_dim("diff", dim, x.ndim)
    if not x.ndim:
        raise ValueError("diff: a 0-d tensor has no neighbours")
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"diff: n is {n!r}, expected an int of 0 or more")
    ahead, behind = (
        tuple([part if d == dim else slice(None) for d in range(x.ndim)]) for part in (slice(1, None), slice(None, -1))
    )
    for _ in range(n):
        if not x.shape[dim]:  # none are left: n may be huge
            break
        x = elementwise.ne(x[ahead], x[behind]) if x.dtype is bool_ else elementwise.sub(x[ahead], x[behind])
    return x


def trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """The integral of y along `dim` by the trapezoidal rule, at places x (a tensor) or `dx` apart."""
    return reduce.sum(panels("trapezoid", y, x, dx, dim), dim=dim)


def cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """The integrals of y along `dim` up to each place after the first."""
    return along.cumsum(panels("cumulative_trapezoid", y, x, dx, dim), dim=dim)


def panels(name, y, x, dx, dim):
    """The area between each two neighbours along `dim`."""
    dim = as_dim(name, dim, y.ndim)
    ahead, behind = (
        tuple([part if d == dim else slice(None) for d in range(y.ndim)]) for part in (slice(1, None), slice(None, -1))
    )
    mean = elementwise.div(elementwise.add(y[ahead], y[behind]), 2.0)
    if x is None:
        return elementwise.mul(mean, dx)
    gaps = diff(x, dim=-1 if x.ndim == 1 else dim)
    if x.ndim == 1:
        gaps = reshape(gaps, shape=tuple([gaps.shape[0] if d == dim else 1 for d in range(y.ndim)]))
    return elementwise.mul(mean, gaps)


trapz = trapezoid


def cumsum(x, dim, *, dtype=None):
    """The sums of the elements up to each place along `dim`. Integers and bools give int64, unless `dtype` says otherwise."""
    return along.cumsum(x if dtype is None else elementwise.cast(x, dtype=dtype), dim=dim)


def argsort(x, dim=-1, descending=False, *, stable=False):
    """The int64 places along `dim` of x's elements in rising (or falling) order; equal ones keep their order, `stable` or not."""
    return along.argsort(x, dim=dim, descending=descending)


# The names that flow_core takes over, and those that tensors have as methods.
__all__ = """prod logsumexp var var_mean std std_mean count_nonzero nansum nanmean argmin max min aminmax sort msort topk kthvalue
diff trapezoid trapz cumulative_trapezoid cumsum argsort""".split()
FUNCTIONS_ONLY = {"var_mean", "std_mean", "trapezoid", "trapz", "cumulative_trapezoid"}
METHODS = {**{name: globals()[name] for name in __all__ if name not in FUNCTIONS_ONLY}, "sum_to_size": sum_to_size}
