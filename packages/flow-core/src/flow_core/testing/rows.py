"""For each op, the calls that it takes: one row of CALLS an op, a function from a Draw to (arguments, attributes)."""

import numpy as np
from hypothesis import strategies as st

from flow_core.dtype import CATEGORIES, bool_, float32, float64, int32, int64, uint8
from flow_core.op import OPS
from flow_core.tensor import from_numpy
from flow_core.testing.algebra import ALGEBRA
from flow_core.testing.along import ALONG
from flow_core.testing.draw import BOOL, COMPLEX, DTYPES, FLOAT, INT, Draw, OpCall
from flow_core.testing.layouts import LAYOUTS
from flow_core.testing.pointwise import POINTWISE, unary
from flow_core.testing.running import RUNNING
from flow_core.testing.windows import WINDOWS


@st.composite
def calls(draw, name, dtypes=DTYPES, smooth=False):
    """Calls of the op `name` on arrays of these dtypes. With `smooth`, elements are generic: derivatives exist."""
    args, attrs = CALLS[name](Draw(draw, dtypes, smooth))
    return OpCall(name, tuple(args), attrs)


def cast(d):
    x = d.array(d.shape(), d.dtype(BOOL, INT, FLOAT, COMPLEX), low=0)
    return [x], {"dtype": d.one_of(*[t for t in d.dtypes if CATEGORIES[x.dtype] < COMPLEX or CATEGORIES[t] == COMPLEX])}


def where(d):
    shape = d.shape()
    dtype = d.dtype(INT, FLOAT, COMPLEX)
    x, y = (d.array(d.narrowed(shape), t) for t in (dtype, d.partner(dtype, INT, FLOAT, COMPLEX)))
    if CATEGORIES[x.dtype] == FLOAT and d.integer(0, 3) == 0:
        y = d.number()
    return [d.array(d.narrowed(shape), bool_), *([x, y] if d.flag() else [y, x])], {}


def reduction(*categories, min_side=0):
    def row(d):
        x = d.array(d.shape(min_side=min_side), d.dtype(*categories))
        return [x], {"dim": d.dims(x.ndim), "keepdim": d.flag()}

    return row


def argmax(d):
    x = d.array(d.shape(min_side=1), d.dtype(BOOL, INT, FLOAT))
    return [x], {"dim": d.one_of(None, d.dim(x.ndim)), "keepdim": d.flag()}


def any_array(d):
    return d.array(d.shape(), d.dtype(BOOL, INT, FLOAT, COMPLEX))


def reshape(d):
    x = any_array(d)
    sizes = [*d.draw(st.permutations(x.shape)), *[1] * d.integer(0, 2)]
    if len(sizes) > 1 and d.flag():
        sizes[:2] = [sizes[0] * sizes[1]]
    if sizes and x.size and d.flag():
        sizes[d.integer(0, len(sizes) - 1)] = -1
    return [x], {"shape": tuple(sizes)}


def permute(d):
    x = any_array(d)
    return [x], {"dims": tuple(i - x.ndim * d.flag() for i in d.draw(st.permutations(range(x.ndim))))}


def transpose(d):
    x = any_array(d)
    return [x], {"dim0": d.dim(x.ndim), "dim1": d.dim(x.ndim)}


def expand(d):
    x = any_array(d)
    old = [d.integer(0, 3) if n == 1 else d.one_of(n, -1) for n in x.shape]
    return [x], {"shape": (*d.shape(max_dims=1), *old)}


def cat(d):
    shape = d.shape(min_dims=1)
    dim = d.dim(len(shape))
    sizes = d.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    at = dim % len(shape)
    dtype = d.dtype(INT, FLOAT)
    return [d.array((*shape[:at], n, *shape[at + 1 :]), d.one_of(dtype, float32)) for n in sizes], {"dim": dim}


def split_sizes(d):
    shape, sizes = d.shape(min_dims=1), tuple(d.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
    dim = d.dim(len(shape))
    shape = [*shape]
    shape[dim] = sum(sizes)
    return [d.array(tuple(shape), d.dtype(BOOL, INT, FLOAT, COMPLEX))], {"sizes": sizes, "dim": dim}


def drawn_index(d, shape):
    """An index into `shape` in the form that slice_ takes."""
    index = []
    for n in shape[: d.integer(0, len(shape))]:
        bounds = st.none() | st.integers(-6, 6)
        step = d.draw(st.sampled_from([None, 1, 2, -1, -2]))
        index += [None] if d.integer(0, 5) == 0 else []
        index.append(d.integer(-n, n - 1) if n and d.flag() else ("slice", d.draw(bounds), d.draw(bounds), step))
    return tuple(index)


def slice_(d):
    x = any_array(d)
    return [x], {"index": drawn_index(d, x.shape)}


def slice_backward(d):
    shape = d.shape()
    checked = OPS["slice_"].infer(from_numpy(np.zeros(shape, float32)).spec, index=drawn_index(d, shape))
    return [d.array(checked.out.shape, d.dtype(INT, FLOAT))], {"index": checked.attrs["index"], "shape": shape}


def ids(d, shape, count):
    """Row numbers below `count`; none if there are no rows."""
    return d.array(shape if count else (*shape, 0), d.one_of(int64, int32, uint8), 0, count - 1)


def take_rows(d):
    weight = d.array(d.shape(min_dims=1), d.dtype(BOOL, INT, FLOAT, COMPLEX))
    return [ids(d, d.shape(max_dims=2), weight.shape[0]), weight], {}


def add_rows(d):
    count = d.integer(0, 4)
    rows = ids(d, d.shape(max_dims=2), count)
    return [d.array((*rows.shape, *d.shape(max_dims=2)), d.dtype(INT, FLOAT)), rows], {"num_rows": count}


def matmul(d):
    m, n, k = (d.integer(0, 4) for _ in range(3))
    lead = d.shape(max_dims=2)
    shapes = (*d.narrowed(lead), m, k), (*d.narrowed(lead), k, n)
    dtypes = mostly_one(d, INT, FLOAT, COMPLEX)
    return [d.array((k,) if d.integer(0, 4) == 0 else s, t) for s, t in zip(shapes, dtypes, strict=True)], {}


def mostly_one(d, *categories):
    """Two dtypes, mostly the same."""
    dtype = d.dtype(*categories)
    return dtype, dtype if d.integer(0, 3) else d.partner(dtype, *categories)


def linear(d):
    rows, out, inner = (d.shape(max_dims=2) for _ in range(3))
    dtype, other = mostly_one(d, FLOAT)
    bias = d.array(out, dtype) if d.flag() else None
    return [d.array(rows + inner, dtype), d.array(out + inner, other), bias], {"num_in": len(inner)}


def linear_gradient(of_weight):
    def row(d):
        rows, out, inner = (d.shape(max_dims=2) for _ in range(3))
        dtype, other = mostly_one(d, FLOAT)
        lead = rows if of_weight else out
        return [d.array(rows + out, dtype), d.array(lead + inner, other)], {"num_in": len(inner)}

    return row


def softmax(d):
    x = d.array(d.shape(), d.dtype(FLOAT))
    return [x], {"dim": d.dim(x.ndim)}


def gelu(count):
    def row(d):
        shape, dtype = d.shape(), d.dtype(FLOAT)
        return [d.array(shape, dtype) for _ in range(count)], {"approximate": d.one_of("none", "tanh")}

    return row


def statistics(dtype):
    return float64 if dtype is float64 else float32


def layer_norm(d):
    shape, dtype = d.shape(max_dims=2), d.dtype(FLOAT)
    cols = d.integer(1, 5)
    weight, bias = (d.array((cols,), dtype) if d.flag() else None for _ in range(2))
    return [d.array((*shape, cols), dtype), weight, bias], {"eps": d.one_of(1e-5, 0.5)}


def layer_norm_backward(d):
    shape, dtype, cols = d.shape(max_dims=2), d.dtype(FLOAT), d.integer(1, 5)
    g, x = (d.array((*shape, cols), dtype) for _ in range(2))
    weight = d.array((cols,), dtype) if d.flag() else None
    mean, rstd = d.array(shape, statistics(dtype)), d.array(shape, statistics(dtype), 0.5, 2)
    return [g, x, weight, mean, rstd], {}


def cross_entropy(d):
    shape, classes = d.shape(max_dims=2), d.integer(1, 4)
    targets = np.where(d.array(shape, bool_), d.array(shape, int64, 0, classes - 1), -100)
    return [d.array((*shape, classes), d.dtype(FLOAT)), np.asarray(targets)], {"ignore_index": -100}


def cross_entropy_backward(d):
    (logits, targets), attrs = cross_entropy(d)
    g = d.array(targets.shape, logits.dtype)
    return [g, logits, targets, d.array(targets.shape, statistics(logits.dtype), 0, 2)], attrs


def attention(d):
    lead, dtype = d.shape(max_dims=2), d.dtype(FLOAT)
    queries, keys, inner, outer = (d.integer(0, 4) for _ in range(4))
    shapes = (queries, inner), (keys, inner), (keys, outer)
    return [d.array(lead + s, dtype) for s in shapes], {"causal": d.flag(), "scale": d.one_of(None, 0.5)}


def attention_backward(d):
    (q, k, v), attrs = attention(d)
    out = (*q.shape[:-1], v.shape[-1])
    lse = d.array(q.shape[:-1], statistics(q.dtype), 0, 2)
    return [d.array(out, q.dtype), q, k, v, d.array(out, q.dtype), lse], {**attrs, "scale": 0.5}


def windowed(d, shape):
    """None, or a window of `shape` in a larger tensor: (its shape, starts)."""
    starts = tuple(d.integer(0, 3) for _ in shape)
    return None if d.flag() else (tuple(n + s + d.integer(0, 2) for n, s in zip(shape, starts, strict=True)), starts)


def random(**attrs):
    def row(d):
        shape = d.shape()
        drawn = {name: d.dtype(FLOAT) if value == "dtype" else d.one_of(*value) for name, value in attrs.items()}
        seed, call = d.integer(0, 2**64 - 1), d.integer(0, 2**40)
        return [seed, call], {"shape": shape, "window": windowed(d, shape), **drawn}

    return row


def dropout(d):
    x = d.array(d.shape(), d.dtype(FLOAT))
    return [x, d.integer(0, 2**64 - 1), d.integer(0, 9)], {"p": d.one_of(0, 0.25, 1), "window": windowed(d, x.shape)}


def full(d):
    value = d.one_of(0, 1, True, 2.5, 1 + 2j)
    dtype = None if d.flag() or isinstance(value, complex) else d.dtype(BOOL, INT, FLOAT)
    return [], {"shape": d.shape(), "fill_value": value, "dtype": dtype}


def full_as(d):
    dtype = None if d.flag() else d.dtype(BOOL, INT, FLOAT)
    return [d.array(d.shape(), d.dtype(INT, FLOAT))], {"fill_value": d.one_of(0, 1.5, True), "dtype": dtype}


def arange(d):
    whole = {"start": d.integer(-3, 3), "end": d.integer(-3, 9), "step": d.one_of(1, 2, -1, -3)}
    return [], {**whole, "step": d.one_of(0.5, -0.25)} if d.flag() else whole


def copy_(d):
    shape = d.shape()
    x = d.array(shape, d.dtype(FLOAT))
    return [x, d.one_of(d.array(d.narrowed(shape), d.dtype(INT, FLOAT)), 1.5)], {}


def adamw_(d):
    shapes, dtype = d.draw(st.lists(st.sampled_from([(), (0,), (3,), (2, 3)]), max_size=2)), d.one_of(float32, float64)
    groups = [d.values(s, dtype, low, 2) for low in (-2, -2, 0.5, -2) for s in shapes]
    return [*groups, 1e-3, d.integer(1, 9), d.one_of(1.0, 0.5)], {"weight_decay": d.one_of(0.0, 0.01)}


CALLS = {
    **POINTWISE,
    **ALONG,
    **ALGEBRA,
    **RUNNING,
    **LAYOUTS,
    **WINDOWS,
    "cast": cast,
    "where": where,
    "sum": reduction(BOOL, INT, FLOAT, COMPLEX),
    "mean": reduction(FLOAT, COMPLEX),
    **dict.fromkeys(["amax", "amin"], reduction(BOOL, INT, FLOAT, min_side=1)),
    **dict.fromkeys(["any", "all"], reduction(BOOL, INT, FLOAT, COMPLEX)),
    "argmax": argmax,
    "sum_of_squares": unary(FLOAT),
    "reshape": reshape,
    "permute": permute,
    "transpose": transpose,
    "expand": expand,
    "cat": cat,
    "split_sizes": split_sizes,
    "slice_": slice_,
    "slice_backward": slice_backward,
    "take_rows": take_rows,
    "add_rows": add_rows,
    "matmul": matmul,
    "linear": linear,
    "linear_weight": linear_gradient(True),
    "linear_input": linear_gradient(False),
    **dict.fromkeys(["softmax", "log_softmax"], softmax),
    "gelu": gelu(1),
    "gelu_backward": gelu(2),
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "cross_entropy_rows": cross_entropy,
    "cross_entropy_rows_backward": cross_entropy_backward,
    "attention": attention,
    "attention_backward": attention_backward,
    "uniform": random(low=(0.0, -1), high=(1.0, 3), dtype="dtype"),
    "normal": random(mean=(0.0, 2), std=(1.0, 0), dtype="dtype"),
    "integers": random(low=(0, -5), high=(1, 2**40)),
    "dropout_mask": dropout,
    "full": full,
    "full_as": full_as,
    "arange_from": arange,
    "copy_": copy_,
    "mul_": copy_,
    "adamw_": adamw_,
}
