"""Every op equals plain numpy, in float32 and float64, within what rounding can do."""

import math

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.testing import CALLS, calls, examples
from flow_core.testing.algebra import ALGEBRA
from flow_core.testing.layouts import LAYOUTS
from flow_core.testing.scatters import SCATTERS

F32, F64 = flow.float32, flow.float64
erf = np.vectorize(math.erf, otypes=[float])


def bisected(function, low, high):
    """The inverse of a growing function of a number, by halving the interval that it lies in."""

    def inverse(y):
        a, b = low, high
        for _ in range(80):
            middle = (a + b) / 2
            a, b = (middle, b) if function(middle) < y else (a, middle)
        return a

    return np.vectorize(inverse, otypes=[float])


def polygamma(x, n):
    """By recurrence up to 30 and the asymptotic series there (Abramowitz and Stegun 6.4.6 and 6.4.11, 6.3.18 for n = 0)."""
    x, total = x.astype(float), np.zeros(x.shape)
    while (x < 30).any():
        low = x < 30
        total = total + np.where(low, (-1.0) ** (n + 1) * math.factorial(n) / x ** (n + 1), 0)
        x = x + low
    bernoulli = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66]
    if n == 0:
        return total + np.log(x) - 1 / (2 * x) - sum(b / ((2 * k) * x ** (2 * k)) for k, b in enumerate(bernoulli, 1))
    series = math.factorial(n - 1) / x**n + math.factorial(n) / (2 * x ** (n + 1))
    for k, b in enumerate(bernoulli, 1):
        series = series + b * math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * x ** (2 * k + n))
    return total + (-1.0) ** (n + 1) * series


def argsort(x, dim, descending):
    order = lambda row: sorted(range(len(row)), key=row.__getitem__, reverse=descending)  # noqa: E731 - stable both ways
    return (
        np.apply_along_axis(order, dim, x).astype(np.int64).reshape(x.shape)
        if x.size and x.ndim
        else np.zeros(x.shape, int)
    )


def gather(x, index, dim):
    out = np.zeros(index.shape)
    for place in np.ndindex(index.shape):
        at = list(place)
        at[dim : dim + 1 or None] = [index[place]] if at else []
        out[place] = x[tuple(at)]
    return out


def add_along(g, index, dim, shape):
    out = np.zeros(shape)
    for place in np.ndindex(index.shape):
        at = list(place)
        at[dim : dim + 1 or None] = [index[place]] if at else []
        out[tuple(at)] += g[place]
    return out


def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True, initial=-np.inf))
    return e / e.sum(dim, keepdims=True)


def normal_cdf(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def tanh_inner(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def gelu(x, approximate):
    return x * normal_cdf(x) if approximate == "none" else 0.5 * x * (1 + np.tanh(tanh_inner(x)))


def gelu_backward(g, x, approximate):
    if approximate == "none":
        return g * (normal_cdf(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    t = np.tanh(tanh_inner(x))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))


def layer_norm(x, weight, bias, eps):
    mean, rstd = x.mean(-1), 1 / np.sqrt(x.var(-1) + eps)
    h = (x - mean[..., None]) * rstd[..., None]
    return h * (1 if weight is None else weight) + (0 if bias is None else bias), mean, rstd


def layer_norm_backward(g, x, weight, mean, rstd):
    h, gw = (x - mean[..., None]) * rstd[..., None], g * (1 if weight is None else weight)
    dx = rstd[..., None] * (gw - gw.mean(-1, keepdims=True) - h * (gw * h).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return dx, (g * h).sum(rows), g.sum(rows)


def cross_entropy(logits, targets, ignore_index):
    lse = np.log(np.exp(logits).sum(-1))
    kept = targets != ignore_index
    picked = np.take_along_axis(logits, np.where(kept, targets, 0)[..., None], -1)[..., 0]
    return np.where(kept, lse - picked, 0), lse


def cross_entropy_backward(g, logits, targets, lse, ignore_index):
    kept = (targets != ignore_index)[..., None]
    one_hot = np.arange(logits.shape[-1]) == targets[..., None]
    return np.where(kept, g[..., None] * (np.exp(logits - lse[..., None]) - one_hot), 0)


def masked_scores(q, k, causal, scale):
    scores = np.einsum("...qd,...kd->...qk", q, k) * (1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale)
    queries, keys = scores.shape[-2:]
    seen = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries
    return np.where(seen | (not causal), scores, -np.inf)


def attention(q, k, v, causal, scale):
    p = np.exp(masked_scores(q, k, causal, scale))
    total = p.sum(-1)
    with np.errstate(divide="ignore"):
        return np.einsum("...qk,...kv->...qv", p / np.where(total == 0, 1, total)[..., None], v), np.log(total)


def attention_backward(g, q, k, v, out, lse, causal, scale):
    p = np.exp(masked_scores(q, k, causal, scale) - lse[..., None])
    ds = p * (np.einsum("...qv,...kv->...qk", g, v) - (g * out).sum(-1, keepdims=True)) * scale
    return ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


def contracted(x, num):
    """x with its last `num` dims as one, the rest as one."""
    return x.reshape(math.prod(x.shape[: x.ndim - num]), math.prod(x.shape[x.ndim - num :]))


def linear(x, weight, bias, num_in):
    out = contracted(x, num_in) @ contracted(weight, num_in).T
    out = out.reshape(x.shape[: x.ndim - num_in] + weight.shape[: weight.ndim - num_in])
    return out if bias is None else out + bias


def linear_weight(g, x, num_in):
    rows = x.ndim - num_in
    out = contracted(g, g.ndim - rows).T @ contracted(x, num_in)
    return out.reshape(g.shape[rows:] + x.shape[rows:])


def linear_input(g, weight, num_in):
    out = weight.ndim - num_in
    return (contracted(g, out) @ contracted(weight, num_in)).reshape(g.shape[: g.ndim - out] + weight.shape[out:])


def as_index(index):
    return (*[slice(*i[1:]) if isinstance(i, tuple) else i for i in index], ...)


def slice_backward(g, index, shape):
    out = np.zeros(shape)
    out[as_index(index)] = g
    return out


def add_rows(g, ids, num_rows):
    out = np.zeros((num_rows, *g.shape[ids.ndim :]))
    for place in np.ndindex(ids.shape):
        out[ids[place]] += g[place]
    return out


def reduce(function):
    """A reduction by numpy, which has no dim 0 in a 0-d array."""
    return lambda x, dim, keepdim: function(x, axis=dim if x.ndim or dim is None else (), keepdims=keepdim)


def split(x, sizes, dim):
    ends = np.cumsum(sizes)
    return tuple(np.take(x, range(end - n, end), axis=dim) for n, end in zip(sizes, ends, strict=True))


REFERENCE = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "neg": np.negative,
    "abs": np.abs,
    **{name: getattr(np, name) for name in "exp log sqrt".split()},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": erf,
    **{name: getattr(np, name) for name in "cos cosh exp2 expm1 log10 log1p log2 reciprocal sin sinh tan".split()},
    **{
        name: getattr(np, name)
        for name in "ceil floor trunc rint sign isfinite isinf isnan signbit logical_not".split()
    },
    **{f"a{name}": getattr(np, f"arc{name}") for name in "cos cosh sin sinh tan tanh".split()},
    **{
        name: getattr(np, name)
        for name in "copysign hypot logaddexp logaddexp2 fmax fmin fmod remainder floor_divide".split()
    },
    **{name: getattr(np, name) for name in "logical_and logical_or logical_xor gcd lcm".split()},
    **{name: getattr(np, name) for name in "bitwise_and bitwise_or bitwise_xor".split()},
    **{f"bitwise_{name}": getattr(np, name) for name in "left_shift right_shift".split()},
    "atan2": np.arctan2,
    "binary_cross_entropy": lambda x, y: -(y * np.log(x) + (1 - y) * np.log(1 - x)),
    "erfc": lambda x: 1 - erf(x),
    "erfinv": bisected(math.erf, -6, 6),
    "lgamma": np.vectorize(math.lgamma, otypes=[float]),
    "polygamma": polygamma,
    "softplus": lambda x, beta, threshold: np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta),
    "cast": lambda x, dtype: x.astype(dtype),
    "where": np.where,
    "sum": reduce(np.sum),
    "mean": reduce(lambda x, **dims: np.sum(x, **dims) / np.sum(np.ones(x.shape), **dims)),
    "amax": reduce(np.max),
    "amin": reduce(np.min),
    "any": reduce(np.any),
    "all": reduce(np.all),
    "argmax": lambda x, dim, keepdim: np.argmax(x, dim, keepdims=keepdim),
    "sum_of_squares": lambda x: np.sum(x * x),
    "reshape": lambda x, shape: x.reshape(shape),
    "permute": lambda x, dims: np.moveaxis(x, dims, range(x.ndim)),
    "transpose": lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1) if x.ndim else x,
    "expand": lambda x, shape: x + np.zeros([1 if n == -1 else n for n in shape]),
    "cat": lambda *tensors, dim: np.concatenate(tensors, dim),
    "split_sizes": split,
    "slice_": lambda x, index: x[as_index(index)],
    "slice_backward": slice_backward,
    "take_rows": lambda ids, weight: np.asarray([weight[i] for i in ids.flat]).reshape(ids.shape + weight.shape[1:]),
    "add_rows": add_rows,
    "matmul": np.matmul,
    "linear": linear,
    "linear_weight": linear_weight,
    "linear_input": linear_input,
    "cumsum": lambda x, dim: np.cumsum(x, dim) if x.ndim else x,
    "frexp": np.frexp,
    "argsort": argsort,
    "gather": gather,
    "add_along": add_along,
    "softmax": softmax,
    "log_softmax": lambda x, dim: np.log(softmax(x, dim)),
    "gelu": gelu,
    "gelu_backward": gelu_backward,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "cross_entropy_rows": cross_entropy,
    "cross_entropy_rows_backward": cross_entropy_backward,
    "attention": attention,
    "attention_backward": attention_backward,
    "full": lambda shape, fill_value, dtype: np.full(shape, fill_value, dtype),
    "full_as": lambda x, fill_value, dtype: np.full(x.shape, fill_value, dtype),
    "arange_from": lambda start, end, step: np.arange(start, end, step),
}
# These have laws of their own: the random ones in test_random.py, those that write in test_inplace.py, windows in test_windows.py,
# matrices, transforms and special functions in test_algebra.py, ops that walk along a dim in test_running.py,
# diagonals and strides in test_layouts.py, places that index tensors name in test_scatter.py.
RUNNING = {"nextafter", "cumprod", "extreme_so_far", "logcumsumexp", "logcumsumexp_backward", "mode_place"}
WINDOWS = {"conv", "conv_input", "conv_weight", "windows", "add_windows", "window_argmax", "pick", "place", "put"}
WINDOWS |= {"window_sum", "spread_windows"}
RANDOM = {"uniform", "normal", "integers", "dropout_mask"}
WRITING = {"copy_", "mul_", "adamw_"}
ELSEWHERE = {*ALGEBRA, *LAYOUTS, *SCATTERS, *RUNNING, *WINDOWS, *RANDOM, *WRITING}

# The roundings on the way to an element, each of at most half an epsilon of SIZE, the largest number that is met there.
# Where the arguments are eighths within [-2, 2], sums of up to 64 products are exact, and so is what has no row here.
ROUNDINGS = {
    **{"div": 1, "sqrt": 1, "rsqrt": 2, "mean": 1},
    # numpy's functions are right to 4 units in the last place, and its float64 ones are the reference.
    **dict.fromkeys(["exp", "log", "tanh", "pow", "erf"], 8),
    **{"sigmoid": 20, "softplus": 20, "binary_cross_entropy": 40},
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cos cosh exp2 expm1 log10 log1p log2 sin sinh tan reciprocal".split(), 8
    ),
    **dict.fromkeys("atan2 hypot logaddexp logaddexp2".split(), 8),
    # scipy's functions are right to some units in the last place of the largest value, and the references add roundings of their own.
    **dict.fromkeys("erfc erfinv lgamma polygamma".split(), 40),
    # A function or two, a few products, and sums of up to 5 terms.
    **dict.fromkeys("softmax log_softmax gelu gelu_backward layer_norm layer_norm_backward".split(), 40),
    **dict.fromkeys("cross_entropy_rows cross_entropy_rows_backward attention attention_backward".split(), 40),
}
SIZE = {
    **dict.fromkeys("erfc erfinv lgamma".split(), 2),  # as in 1 - erf(x), whose terms are up to 1
    "binary_cross_entropy": 4,
    "polygamma": 20,  # 2 / 0.5^3, and its series
    "log_softmax": 5,  # 4 below the largest, and log 4
    "gelu_backward": 4,
    "layer_norm": 4 / math.sqrt(1e-5),  # the difference from the mean, times the largest rstd
    "layer_norm_backward": 2 * (2 * 2 + 8 * 5 * 16),  # rstd times (g w, and h times the mean of g w h), |h| <= 8
    "cross_entropy_rows": 5,
    "cross_entropy_rows_backward": 2 * math.exp(2),
    "attention": 16 * math.sqrt(4),  # the exponent, whose absolute error is a relative one of the exponential
    "attention_backward": 16 * math.exp(8) * (4 * 4 + 4 * 4) * 2 * 4,  # exponent, p, dp, k, sum over keys
}


@pytest.mark.parametrize("name", sorted(REFERENCE))
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_an_op_equals_plain_numpy(name, dtype):
    @examples(30)
    @given(calls(name, (dtype,)))
    def law(call):
        assert_equals_numpy(call)

    law()


def assert_equals_numpy(call):
    wide = [a.astype(F64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in call.args]
    with np.errstate(all="ignore"):
        expected = REFERENCE[call.name](*wide, **call.attrs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for out, value in zip(call.run(), expected, strict=True):
        value = np.asarray(value)
        assert out.shape == value.shape
        if out.dtype.kind != "f":
            np.testing.assert_array_equal(out.data, value)
            continue
        unit = float(np.finfo(out.dtype).eps) / 2 * ROUNDINGS.get(call.name, 0)
        size = SIZE.get(call.name, 0)
        np.testing.assert_allclose(out.data.astype(F64), value.astype(F64), rtol=unit, atol=unit * size, equal_nan=True)


def test_every_op_has_a_reference_or_laws_of_its_own():
    assert set(REFERENCE) | ELSEWHERE == set(CALLS)
    assert not set(REFERENCE) & ELSEWHERE
