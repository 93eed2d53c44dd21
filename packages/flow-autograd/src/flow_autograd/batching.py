"""The rules of vmap: for each op, how it runs on values whose dim 0 is the batch. Elementwise ops need none.

A rule takes (op, values, batched, specs, attrs, out): the arguments, which of them are batches, the specs of one example, the
attributes in normal form and the spec of one result. It returns the batch of results, or None where it does not know how.
"""

import flow_core as flow

RULES = {}
WHOLE = ("slice", None, None, None)


def rule(*names):
    def add(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return add


def align(value, spec, ndim):
    """A batch with dims of size 1 between the batch and each example's dims, so that examples of `ndim` dims broadcast with it."""
    missing = ndim - len(spec.shape)
    return flow.reshape(value, shape=(value.shape[0], *[1] * missing, *spec.shape)) if missing > 0 else value


@rule("sum", "mean", "amax", "amin", "any", "all")
def reduction(op, values, batched, specs, attrs, out):
    return op(*values, dim=tuple([d + 1 for d in attrs["dim"]]), keepdim=attrs["keepdim"]) if attrs["dim"] else None


@rule("argmax", "argmin")
def position(op, values, batched, specs, attrs, out):
    (value,), dim, keepdim = values, attrs["dim"], attrs["keepdim"]
    return op(value, dim=dim + 1, keepdim=keepdim) if dim is not None and specs[0].shape else None


@rule("softmax", "log_softmax", "cumsum", "cumprod", "argsort", "split_sizes")
def along_a_dim(op, values, batched, specs, attrs, out):
    return op(*values, **{**attrs, "dim": attrs["dim"] + 1}) if specs[0].shape else None


@rule("transpose")
def transpose(op, values, batched, specs, attrs, out):
    return op(*values, dim0=attrs["dim0"] + 1, dim1=attrs["dim1"] + 1) if specs[0].shape else values[0]


@rule("permute")
def permute(op, values, batched, specs, attrs, out):
    return op(*values, dims=(0, *[d + 1 for d in attrs["dims"]]))


@rule("reshape")
def reshape(op, values, batched, specs, attrs, out):
    return op(*values, shape=(values[0].shape[0], *attrs["shape"]))


@rule("expand")
def expand(op, values, batched, specs, attrs, out):
    return op(align(values[0], specs[0], len(out.shape)), shape=(values[0].shape[0], *attrs["shape"]))


@rule("full_as", "dropout_mask")
def same(op, values, batched, specs, attrs, out):
    return op(*values, **attrs)


@rule("slice_")
def slice_(op, values, batched, specs, attrs, out):
    return op(*values, index=(WHOLE, *attrs["index"]))


@rule("slice_backward")
def slice_backward(op, values, batched, specs, attrs, out):
    return op(*values, index=(WHOLE, *attrs["index"]), shape=(values[0].shape[0], *attrs["shape"]))


@rule("cat")
def cat(op, values, batched, specs, attrs, out):
    size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
    whole = [v if b else flow.expand(v, shape=(size, *v.shape)) for v, b in zip(values, batched, strict=True)]
    return op(*whole, dim=attrs["dim"] + 1)


@rule("matmul")
def matmul(op, values, batched, specs, attrs, out):
    if min(len(s.shape) for s in specs) < 2:
        return None
    ndim = max(len(s.shape) for s in specs)
    return op(*[align(v, s, ndim) if b else v for v, s, b in zip(values, specs, batched, strict=True)])


@rule("linear", "linear_input", "layer_norm", "take_rows", "pick", "windows", "add_windows")
def leading(op, values, batched, specs, attrs, out):
    """Ops whose first argument may have any dims before its own, the others being of the batch's size or the same for all."""
    alone = batched[0] and not any(batched[1:])
    return op(*values, **attrs) if alone and specs[0].shape else None


@rule(
    "attention",
    "attention_backward",
    "cross_entropy_rows_backward",
    "gelu_backward",
    "inv",
    "det",
    "cholesky",
    "eigh",
    "svd",
    "qr",
)
def leading_alike(op, values, batched, specs, attrs, out):
    """Ops all of whose arguments may have the same dims before their own."""
    return op(*values, **attrs) if all(batched) else None


@rule("conv")
def conv(op, values, batched, specs, attrs, out):
    """Examples of a batch of inputs under the same weight: the two batches in one."""
    if batched != [True, False]:
        return None
    x = values[0]
    found = op(flow.reshape(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:])), values[1], **attrs)
    return flow.reshape(found, shape=(x.shape[0], *out.shape))
