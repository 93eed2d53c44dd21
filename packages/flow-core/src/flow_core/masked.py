"""Functions of the elements that a mask keeps, with torch.masked's names and arguments.

`mask`, bools (or numbers, of which 0 is False) that broadcast to the input, is True for what counts; None keeps everything. What is left
out counts as the function's neutral element and has no gradient; where nothing is kept the result is that neutral element (NaN for means
and medians). An empty tuple of dims, like None, means all.
"""

import builtins
import math

from flow_core.dtype import CATEGORIES, as_dtype, bool_, complex64, float32, float64
from flow_core.functions import reduction as _reductions
from flow_core.functions import running as _running
from flow_core.functions import statistics as _statistics
from flow_core.functions.door import guard as _guard
from flow_core.functions.norms import vector_norm as _vector_norm
from flow_core.ops import along as _along
from flow_core.ops import binary as _binary
from flow_core.ops import decomposition as _decomposition
from flow_core.ops import elementwise as _elementwise
from flow_core.ops import nn as _nn
from flow_core.ops import reduce as _reduce
from flow_core.ops import shape as _shape
from flow_core.spec import as_dim as _as_dim
from flow_core.spec import as_dims as _as_dims
from flow_core.spec import broadcast_shapes as _broadcast_shapes


def _kept(name, input, mask):
    """The mask as bools of input's shape. ValueError if it does not broadcast to it."""
    if not hasattr(mask, "spec"):
        raise TypeError(f"masked.{name}: mask is a {type(mask).__name__}, expected a tensor or None")
    if mask.ndim > input.ndim or _broadcast_shapes(f"masked.{name}", input.shape, mask.shape) != input.shape:
        raise ValueError(f"masked.{name}: mask {mask.spec} does not broadcast to input {input.spec}")
    mask = mask if mask.dtype is bool_ else _elementwise.ne(mask, 0)
    return _shape.expand(mask, shape=input.shape)


def _filled(name, input, mask, neutral):
    """input with `neutral` where the mask leaves out."""
    return input if mask is None else _elementwise.where(_kept(name, input, mask), input, neutral)


def _dims(name, input, dim):
    return _as_dims(f"masked.{name}", None if isinstance(dim, (tuple, list)) and not dim else dim, input.ndim)


def _lowest(dtype):
    """The number that no element of `dtype` is below."""
    if CATEGORIES[dtype] < 2:
        bits = 8 * dtype.itemsize
        return False if dtype is bool_ else 0 if dtype.kind == "u" else -(2 ** (bits - 1))
    return -math.inf


def _highest(dtype):
    """The number that no element of `dtype` is above."""
    if CATEGORIES[dtype] < 2:
        bits = 8 * dtype.itemsize
        return True if dtype is bool_ else 2**bits - 1 if dtype.kind == "u" else 2 ** (bits - 1) - 1
    return math.inf


def _to(x, dtype):
    return x if dtype is None or as_dtype(dtype) is x.dtype else _elementwise.cast(x, dtype=as_dtype(dtype))


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum over `dim`, 0 where nothing is kept. Integers and bools give int64, unless `dtype` says otherwise."""
    kept = _filled("sum", _to(input, dtype), mask, 0)
    return _to(_reduce.sum(kept, dim=_dims("sum", input, dim), keepdim=keepdim), dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product over `dim`, 1 where nothing is kept. Integers and bools give int64, unless `dtype` says otherwise."""
    kept = _filled("prod", _to(input, dtype), mask, 1)
    return _to(_reductions.prod(kept, _dims("prod", input, dim), keepdim), dtype)


def cumsum(input, dim, *, dtype=None, mask=None):
    """The sums up to each place along `dim`."""
    return _to(_along.cumsum(_filled("cumsum", _to(input, dtype), mask, 0), dim=dim), dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """The products up to each place along `dim`."""
    return _to(_running.cumprod(_filled("cumprod", _to(input, dtype), mask, 1), dim), dtype)


def _extreme(name, reduce, neutral):
    def function(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = _to(input, dtype)
        kept = _filled(name, x, mask, neutral(x.dtype))
        return reduce(kept, dim=_dims(name, input, dim), keepdim=keepdim)

    return function


amax = _extreme("amax", _reduce.amax, _lowest)
amax.__doc__ = "The largest element over `dim`; minus infinity, or the least integer, where none is kept."
amin = _extreme("amin", _reduce.amin, _highest)
amin.__doc__ = "The smallest element over `dim`; infinity, or the greatest integer, where none is kept."


def _place(name, of, neutral):
    def function(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        kept = _filled(name, input, mask, neutral(input.dtype))
        return _to(of(kept, dim=dim, keepdim=keepdim), input.dtype if dtype is None else dtype)

    return function


argmax = _place("argmax", _reduce.argmax, _lowest)
argmax.__doc__ = "The place along `dim` (in all of input, flattened, without one) of the largest element, in input's dtype as in torch."
argmin = _place("argmin", _reductions.argmin, _highest)
argmin.__doc__ = "The place along `dim` (in all of input, flattened, without one) of the smallest element, in input's dtype as in torch."


def _count(name, input, dims, keepdim, mask):
    """How many elements are kept over `dims`: a number where there is no mask."""
    if mask is None:
        return math.prod(input.shape[d] for d in dims)
    return _reduce.sum(_kept(name, input, mask), dim=dims, keepdim=keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean over `dim`, NaN where nothing is kept. ValueError for integers without a float `dtype`."""
    if CATEGORIES[input.dtype if dtype is None else as_dtype(dtype)] < 2:
        raise ValueError(f"masked.mean: {input.spec} and dtype {dtype} give no mean; give a float dtype")
    dims = _dims("mean", input, dim)
    total = sum(input, dims or None, keepdim=keepdim, dtype=dtype, mask=mask)
    return _elementwise.div(total, _count("mean", input, dims, keepdim, mask))


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median along `dim` of what is kept and is not NaN; NaN where there is none, which is a ValueError for integers."""
    floating = CATEGORIES[input.dtype] == 2
    kept = _filled("median", input if floating else _to(input, float32), mask, math.nan)
    found = _statistics.nanmedian(kept, _as_dim("masked.median", dim, input.ndim), keepdim).values
    if floating:
        return found
    if bool((found.data != found.data).any()):
        raise ValueError(f"masked.median: the mask leaves nothing of a row of {input.spec}, which has no NaN")
    return _to(found, input.dtype if dtype is None else dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of order `ord` over `dim`: what is left out counts as 0, or as infinity for -inf."""
    ord = 2.0 if ord is None else ord
    kept = _filled("norm", _to(input, dtype), mask, math.inf if ord == -math.inf else 0.0)
    return _vector_norm(kept, ord, _dims("norm", input, dim), keepdim)


def _spread(name, input, dim, unbiased, correction, keepdim, dtype, mask):
    """The sum of squared differences from the mean over (count - correction)."""
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{name}: give unbiased or correction, not both")
    correction = float(
        unbiased if correction is None and unbiased is not None else 1 if correction is None else correction
    )
    given = input.dtype if dtype is None else as_dtype(dtype)
    dtype = given if CATEGORIES[given] >= 2 else float32
    x, dims = _filled(name, _to(input, dtype), mask, 0), _dims(name, input, dim)
    count = _count(name, input, dims, True, mask)
    total = _reduce.sum(x, dim=dims, keepdim=True)
    centred = _elementwise.sub(x, _elementwise.div(total, count))
    other = _decomposition.conjugate(centred) if dtype.kind == "c" else centred
    squares = _filled(name, _elementwise.mul(centred, other), mask, 0)
    total = _reduce.sum(squares, dim=dims, keepdim=keepdim)
    if not hasattr(count, "spec"):
        rest = builtins.max(count - correction, 0.0)
    else:
        real = float64 if dtype in (float64, as_dtype("complex128")) else float32 if dtype is complex64 else dtype
        rest = _elementwise.sub(_to(_shape.reshape(count, shape=total.shape), real), correction)
        rest = _elementwise.where(_elementwise.lt(rest, 0), 0.0, rest)
    return _elementwise.div(total, rest)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance over `dim` of what is kept, its squares over (count - correction), 1 by default; `unbiased` False is correction 0.

    Integers give float32.
    """
    return _spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The square root of var."""
    return _elementwise.sqrt(_spread("std", input, dim, unbiased, correction, keepdim, dtype, mask))


def logsumexp(input, dim, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(input))) over `dim`, minus infinity where nothing is kept."""
    x = _to(input, dtype)
    return _reductions.logsumexp(_filled("logsumexp", x, mask, -math.inf), _dims("logsumexp", input, dim), keepdim)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), elementwise; what its mask leaves out counts as minus infinity."""
    x = _filled("logaddexp", _to(input, dtype), input_mask, -math.inf)
    return _binary.logaddexp(x, _filled("logaddexp", _to(other, dtype), other_mask, -math.inf))


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax along `dim` over what is kept, 0 elsewhere; NaN where nothing is."""
    return _nn.softmax(_filled("softmax", _to(input, dtype), mask, -math.inf), dim=dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax along `dim` over what is kept, minus infinity elsewhere."""
    return _nn.log_softmax(_filled("log_softmax", _to(input, dtype), mask, -math.inf), dim=dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax of -input along `dim` over what is kept."""
    return _nn.softmax(_elementwise.neg(_filled("softmin", _to(input, dtype), mask, math.inf)), dim=dim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """What is kept, over the larger of its norm of order `ord` along `dim` and eps; 0 elsewhere."""
    x = _to(input, dtype)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return _elementwise.div(
        _filled("normalize", x, mask, 0), _elementwise.where(_elementwise.lt(length, eps), eps, length)
    )


globals().update(_guard(globals()))
