"""Sharding rules of elementwise ops of one argument: every dim splits, and none is linear."""

from flow_sbp.signature import Rule

UNARY = Rule("... -> ...")


def polygamma(x, n):
    return UNARY


def softplus(x, beta, threshold):
    return UNARY


RULES = {
    **dict.fromkeys(
        (
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "ceil",
            "cos",
            "cosh",
            "erfc",
            "erfinv",
            "exp2",
            "expm1",
            "floor",
            "isfinite",
            "isinf",
            "isnan",
            "lgamma",
            "log10",
            "log1p",
            "log2",
            "logical_not",
            "reciprocal",
            "rint",
            "sign",
            "signbit",
            "sin",
            "sinh",
            "tan",
            "trunc",
        ),
        UNARY,
    ),
    "polygamma": polygamma,
    "softplus": softplus,
    "frexp": Rule("... -> ..., ..."),
}
