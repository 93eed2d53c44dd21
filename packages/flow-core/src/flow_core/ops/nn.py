"""The composite functions of neural networks that are ops of their own: softmax, GELU, layer norm, cross entropy, attention."""

import numpy as np

import flow_kernels
from flow_core.dtype import CATEGORIES, float32, float64, int64
from flow_core.op import Checked, define
from flow_core.spec import as_dim, as_float
from flow_kernels import reference


def require_float(name, *specs):
    """TypeError unless every spec is of a float type."""
    for spec in specs:
        if spec is not None and CATEGORIES[spec.dtype] != 2:
            raise TypeError(f"{name}: {spec} is not of a float type; cast it first, as in x.to(flow.float32)")


def require_shapes(name, shape, **specs):
    """ValueError unless every spec has `shape`."""
    for argument, spec in specs.items():
        if spec.shape != shape:
            raise ValueError(f"{name}: {argument} is {spec}, expected the shape {shape}")


def wide_type(dtype):
    """The type to compute `dtype`'s sums in: float64 for itself, float32 for the rest."""
    return float64 if dtype is float64 else float32


def softmax_kernel(x, /, *, dim):
    wide = wide_type(x.dtype)

    def run(a):
        with np.errstate(all="ignore"):
            a = a.astype(wide, copy=False)
            e = np.exp(a - a.max(axis=dim, keepdims=True, initial=-np.inf))
            return np.asarray(e / e.sum(axis=dim, keepdims=True), x.dtype)

    return run


@define(softmax_kernel)
def softmax(x, /, *, dim):
    """exp(x) over its sum along `dim`, of x's shape. A row of -inf gives NaN."""
    require_float("softmax", x)
    return Checked(x, {"dim": as_dim("softmax", dim, x.ndim)})


def log_softmax_kernel(x, /, *, dim):
    wide = wide_type(x.dtype)

    def run(a):
        with np.errstate(all="ignore"):
            a = a.astype(wide, copy=False)
            shifted = a - a.max(axis=dim, keepdims=True, initial=-np.inf)
            return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True)), x.dtype)

    return run


@define(log_softmax_kernel)
def log_softmax(x, /, *, dim):
    """The logarithm of softmax along `dim`, without taking exponentials that overflow."""
    require_float("log_softmax", x)
    return Checked(x, {"dim": as_dim("log_softmax", dim, x.ndim)})


def kernels_for(dtype):
    """The module that computes in `dtype` and the type that its arrays must have: fused kernels in float32 (16-bit floats are cast
    there and back), the numpy reference in float64."""
    return (reference, float64) if dtype is float64 else (flow_kernels, float32)


def fused(name, out_dtype, floats, **attrs):
    """The function that runs the kernel `name` on arrays, or Nones, of which those at the places `floats` are cast as it needs them."""
    module, wide = kernels_for(out_dtype)
    kernel = getattr(module, name)

    def widen(i, a):
        return a if a is None else np.asarray(a, wide if i in floats else None, order="C")

    def run(*arrays):
        out = kernel(*[widen(i, a) for i, a in enumerate(arrays)], **attrs)
        if out_dtype is wide:
            return out
        return tuple([np.asarray(o, out_dtype) for o in out]) if isinstance(out, tuple) else np.asarray(out, out_dtype)

    return run


def gelu_kernel(x, /, *, approximate):
    return fused("gelu", x.dtype, {0}, approximate=approximate)


def check_approximate(name, approximate):
    if approximate not in ("none", "tanh"):
        raise ValueError(f'{name}: approximate is {approximate!r}, expected "none" or "tanh"')


@define(gelu_kernel, elementwise=True)
def gelu(x, /, *, approximate="none"):
    """x * Phi(x), with Phi the normal distribution function; "tanh" takes Hendrycks and Gimpel's approximation (1606.08415, section 2)."""
    require_float("gelu", x)
    check_approximate("gelu", approximate)
    return Checked(x, {"approximate": approximate})


def gelu_backward_kernel(g, x, /, *, approximate):
    return fused("gelu_backward", x.dtype, {0, 1}, approximate=approximate)


@define(gelu_backward_kernel, linear=(0,))
def gelu_backward(g, x, /, *, approximate="none"):
    """g times the derivative of gelu at x: gelu's gradient."""
    require_float("gelu_backward", g, x)
    require_shapes("gelu_backward", x.shape, g=g)
    check_approximate("gelu_backward", approximate)
    return Checked(x, {"approximate": approximate})


def layer_norm_kernel(x, weight=None, bias=None, /, *, eps):
    run = fused("layer_norm", x.dtype, {0, 1, 2}, eps=eps)
    stats = statistics_type(x.dtype)

    def with_statistics(a, w, b):
        y, mean, rstd = run(a, w, b)
        return y, np.asarray(mean, stats), np.asarray(rstd, stats)

    return with_statistics


def statistics_type(dtype):
    """The type of the row statistics that a norm keeps for its gradient."""
    return float64 if dtype is float64 else float32


@define(layer_norm_kernel)
def layer_norm(x, weight=None, bias=None, /, *, eps=1e-5):
    """(y, mean, rstd) over the last dim: y = (x - mean) * rstd * weight + bias, rstd = 1 / sqrt(var + eps), var the biased variance.

    rstd is NaN where a negative eps leaves var + eps below 0. x (..., cols); weight and bias (cols,) or None; mean and rstd (...).
    Ba, Kiros and Hinton, 1607.06450.
    """
    check_norm("layer_norm", x, weight=weight, bias=bias)
    eps = as_float("layer_norm", "eps", eps)
    rows = x.with_shape(x.shape[:-1]).with_dtype(statistics_type(x.dtype))
    return Checked((x, rows, rows), {"eps": eps})


def check_norm(name, x, **affine):
    """The errors of a norm's arguments."""
    require_float(name, x, *affine.values())
    if not x.ndim or not x.shape[-1]:
        raise ValueError(f"{name}: {x} must have a last dim of one element at least")
    for argument, spec in affine.items():
        if spec is not None and (spec.shape != x.shape[-1:] or spec.dtype is not x.dtype):
            raise ValueError(f"{name}: {argument} {spec} must have the last dim and the dtype of x {x}")


def layer_norm_backward_kernel(g, x, weight, mean, rstd, /):
    return fused("layer_norm_backward", x.dtype, {0, 1, 2, 3, 4})


@define(layer_norm_backward_kernel, linear=(0,), nones=(2,))
def layer_norm_backward(g, x, weight, mean, rstd, /):
    """(dx, dweight, dbias): the gradients of layer_norm, from that of y and what it kept. Without weight, dweight is that of ones."""
    check_norm("layer_norm_backward", x, weight=weight)
    require_float("layer_norm_backward", g, mean, rstd)
    require_shapes("layer_norm_backward", x.shape, g=g)
    require_shapes("layer_norm_backward", x.shape[:-1], mean=mean, rstd=rstd)
    cols = x.with_shape(x.shape[-1:])
    return (x, cols, cols)


def cross_entropy_kernel(logits, targets, /, *, ignore_index):
    run = fused("cross_entropy", logits.dtype, {0}, ignore_index=ignore_index)
    stats = statistics_type(logits.dtype)

    def with_statistics(logits, targets):
        check_classes(logits, targets, ignore_index)
        losses, lse = run(logits, targets)
        return losses, np.asarray(lse, stats)

    return with_statistics


def check_classes(logits, targets, ignore_index):
    """ValueError if a target is no class: in float64, where numpy would count a negative one from the end."""
    if logits.dtype == float64:
        wrong = targets[(targets != ignore_index) & ((targets < 0) | (targets >= logits.shape[-1]))]
        if wrong.size:
            raise ValueError(f"cross_entropy_rows: target {wrong[0]} is not in [0, {logits.shape[-1]})")


def check_targets(name, logits, targets):
    require_float(name, logits)
    if targets.dtype is not int64:
        raise TypeError(f"{name}: targets are {targets}, expected int64 class numbers: x.to(flow.int64)")
    if not logits.ndim or logits.shape[:-1] != targets.shape:
        raise ValueError(f"{name}: logits {logits} must have the dims of targets {targets} and then one of classes")
    if not logits.shape[-1]:
        raise ValueError(f"{name}: logits {logits} have no classes")


def check_ignore_index(name, ignore_index):
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, int):
        raise TypeError(f"{name}: ignore_index is {ignore_index!r}, expected an int")


@define(cross_entropy_kernel)
def cross_entropy_rows(logits, targets, /, *, ignore_index=-100):
    """(losses, lse), each of targets' shape: the negative log-likelihood of each target, and log sum exp of its logits.

    logits (..., classes), targets (...) int64 in [0, classes), or `ignore_index`, whose loss is 0. ValueError for another target.
    """
    check_targets("cross_entropy_rows", logits, targets)
    check_ignore_index("cross_entropy_rows", ignore_index)
    rows = logits.with_shape(targets.shape)
    return Checked((rows, rows.with_dtype(statistics_type(logits.dtype))), {"ignore_index": ignore_index})


def cross_entropy_backward_kernel(g, logits, targets, lse, /, *, ignore_index):
    return fused("cross_entropy_backward", logits.dtype, {0, 1, 3}, ignore_index=ignore_index)


@define(cross_entropy_backward_kernel, linear=(0,))
def cross_entropy_rows_backward(g, logits, targets, lse, /, *, ignore_index=-100):
    """g (...) times (softmax(logits) - one_hot(targets)), of logits' shape, zero in ignored rows: the gradient of cross_entropy_rows."""
    check_targets("cross_entropy_rows_backward", logits, targets)
    check_ignore_index("cross_entropy_rows_backward", ignore_index)
    require_float("cross_entropy_rows_backward", g, lse)
    require_shapes("cross_entropy_rows_backward", targets.shape, g=g, lse=lse)
    return Checked(logits, {"ignore_index": ignore_index})
