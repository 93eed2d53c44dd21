"""Sharding rules of the fused ops of neural networks: rows split, the dim that an op works along is whole."""

from flow_sbp.rules.dims import names, text
from flow_sbp.signature import Rule

FIRST = ((0,),)


def softmax(x, dim):
    dims = names(x)
    return Rule(text([dims], [dims]), whole=tuple(dims[dim : dim + 1]))


def gelu(x, approximate):
    return Rule("... -> ...")


def gelu_backward(g, x, approximate):
    return Rule("..., ... -> ...", FIRST)


def layer_norm(x, weight, bias, eps):
    rows = names(x)[:-1]
    inputs = [[*rows, "c"]] + [["c"] for t in (weight, bias) if t is not None]
    return Rule(text(inputs, [[*rows, "c"], rows, rows]), whole=("c",))


def layer_norm_backward(g, x, weight, mean, rstd):
    rows = names(x)[:-1]
    inputs = [[*rows, "c"], [*rows, "c"], *([["c"]] if weight is not None else []), rows, rows]
    return Rule(text(inputs, [[*rows, "c"], ["c"], ["c"]]), FIRST, whole=("c",))


def cross_entropy_rows(logits, targets, ignore_index):
    rows = names(targets)
    return Rule(text([[*rows, "v"], rows], [rows, rows]), whole=("v",))


def cross_entropy_rows_backward(g, logits, targets, lse, ignore_index):
    rows = names(targets)
    return Rule(text([rows, [*rows, "v"], rows, rows], [[*rows, "v"]]), FIRST, whole=("v",))


RULES = {
    "softmax": softmax,
    "log_softmax": softmax,
    "gelu": gelu,
    "gelu_backward": gelu_backward,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "cross_entropy_rows": cross_entropy_rows,
    "cross_entropy_rows_backward": cross_entropy_rows_backward,
}
