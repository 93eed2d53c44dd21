"""Sharding rules of elementwise ops: every output dim splits; what is linear keeps partial values partial.

A number among the arguments stands as None: it is the same on every rank.
"""

from flow_sbp.dtype import dtype_of
from flow_sbp.signature import Rule

UNARY = "... -> ..."
BINARY = "..., ... -> ..."
TERNARY = "..., ..., ... -> ..."
FLOATS = ("bf16", "f16", "f32", "f64", "c64", "c128")


def binary(*linear):
    """The row of an op on two arguments, `linear` in these groups of them. x + 1 is not linear, for every part would add the 1."""

    def row(x, y):
        if x is None or y is None:
            return Rule(UNARY, ((0,),) if (0 if y is None else 1,) in linear else ())
        return Rule(BINARY, linear)

    return row


def cast(x, dtype):
    """Parts may be copied, or widened before they are added; not rounded or cut off."""
    src, dst = dtype_of(x.dtype), dtype_of(dtype)
    widens = src.name in FLOATS and dst.name in FLOATS and dst.size > src.size
    return Rule(UNARY, ((0,),) if widens or dst is src else ())


def where(condition, x, y):
    tensors = [t for t in (condition, x, y) if t is not None]
    return Rule((UNARY, BINARY, TERNARY)[len(tensors) - 1], ((1, 2),) if len(tensors) == 3 else ())


RULES = {
    "add": binary((0, 1)),
    "sub": binary((0, 1)),
    "mul": binary((0,), (1,)),
    "div": binary((0,)),
    "neg": Rule(UNARY, linear=((0,),)),
    "cast": cast,
    "where": where,
    **dict.fromkeys(("pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"), binary()),
    **dict.fromkeys(("abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf"), Rule(UNARY)),
}
