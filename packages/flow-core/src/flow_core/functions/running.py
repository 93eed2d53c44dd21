"""Functions that keep something while they walk along one dim: products, extremes, sums of exponentials; and frexp, renorm."""

from typing import NamedTuple

from flow_core.dtype import as_dtype
from flow_core.functions.norms import vector_norm
from flow_core.functions.reduction import ValuesAndIndices
from flow_core.ops import along, elementwise, running, shape, unary
from flow_core.spec import as_dim
from flow_core.tensor import Tensor


class Mantissa(NamedTuple):
    """What frexp returns."""

    mantissa: Tensor
    exponent: Tensor


def cumprod(input, dim, *, dtype=None):
    """The products of the elements up to each place along `dim`; integers and bools give int64, unless `dtype` says otherwise.

    The gradient is right beside zeros too.
    """
    return running.cumprod(input if dtype is None else elementwise.cast(input, dtype=as_dtype(dtype)), dim=dim)


def logcumsumexp(input, dim):
    """log of the sums of exp(input) up to each place along `dim`, without overflow on the way. TypeError for integers."""
    return running.logcumsumexp(input, dim=dim)


def so_far(input, dim, largest):
    places = running.extreme_so_far(input, dim=dim, largest=largest)
    return ValuesAndIndices(along.gather(input, places, dim=dim), places)


def cummax(input, dim):
    """(values, indices): the largest element up to each place along `dim`, NaN once one was met, and its place, the last of equal ones."""
    return so_far(input, dim, True)


def cummin(input, dim):
    """(values, indices): the smallest element up to each place along `dim`, NaN once one was met, and its place, the last of equal ones."""
    return so_far(input, dim, False)


def mode(input, dim=-1, keepdim=False):
    """(values, indices): the element that occurs most often along `dim`, the smallest of several, and its last place.

    ValueError where the dim has no elements.
    """
    dim = as_dim("mode", dim, input.ndim)
    places = running.mode_place(input, dim=dim)
    if not input.ndim:
        return ValuesAndIndices(elementwise.cast(input, dtype=input.dtype), places)
    places = shape.unsqueeze(places, dim)
    found = ValuesAndIndices(along.gather(input, places, dim=dim), places)
    return found if keepdim else ValuesAndIndices(*[shape.squeeze(t, dim) for t in found])


def frexp(input):
    """(mantissa, exponent): input = mantissa * 2^exponent with 0.5 <= |mantissa| < 1, exponent int32. TypeError for integers."""
    return Mantissa(*unary.frexp(input))


def renorm(input, p, dim, maxnorm):
    """input with each slice along `dim` whose norm of order p is above `maxnorm` scaled down to it (over norm + 1e-7).

    ValueError for p <= 0, a negative maxnorm, or fewer than two dims.
    """
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not p > 0:
        raise ValueError(f"renorm: p is {p!r}, expected a number above 0")
    if not maxnorm >= 0:
        raise ValueError(f"renorm: maxnorm is {maxnorm!r}, expected 0 or more")
    if input.ndim < 2:
        raise ValueError(f"renorm: {input.spec} has {input.ndim} dims, expected 2 or more")
    dim = as_dim("renorm", dim, input.ndim)
    norm = vector_norm(input, p, tuple(d for d in range(input.ndim) if d != dim), True)
    above = elementwise.gt(norm, maxnorm)
    factor = elementwise.where(above, elementwise.div(maxnorm, elementwise.add(norm, 1e-7)), 1.0)
    return elementwise.mul(input, factor)


# The names that flow_core takes over, all of which tensors have as methods too.
__all__ = "cumprod logcumsumexp cummax cummin mode frexp renorm".split()
METHODS = {name: globals()[name] for name in __all__}
