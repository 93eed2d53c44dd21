"""How one mesh axis holds a tensor: split along a dim, broadcast, or partial (every rank holds one addend).

The three words, and the algebra of adjoints that boxing's gradient uses, follow OneFlow (arXiv 2110.15032, section
3).
"""

import re
from dataclasses import dataclass

KINDS = ("sum", "max", "min", "prod")  # what a partial value's parts are combined by; reduction.py has a row for each


@dataclass(frozen=True)
class Split:
    """The ranks of the axis hold consecutive pieces of one dim."""

    dim: int
    # the tensor's dim; negative counts from the back and is resolved by the Layout, which knows ndim

    def __post_init__(self):
        if isinstance(self.dim, bool) or not isinstance(self.dim, int):
            raise TypeError(f"Split(dim) takes an int, got {self.dim!r}")

    def __str__(self):
        return f"S({self.dim})"


@dataclass(frozen=True)
class Broadcast:
    """Every rank of the axis holds the same value."""

    def __str__(self):
        return "B"


@dataclass(frozen=True)
class Partial:
    """The value is the sum (max, min, prod) over the axis of what the ranks hold."""

    op: str = "sum"
    # one of KINDS

    def __post_init__(self):
        if self.op not in KINDS:
            raise ValueError(f"Partial(op) knows {', '.join(KINDS)}; got {self.op!r}")

    def __str__(self):
        return "P" if self.op == "sum" else f"P({self.op})"


Sbp = Split | Broadcast | Partial

broadcast = Broadcast()
partial_sum = Partial("sum")


def split(dim):
    """`Split(dim)`, under OneFlow's name."""
    return Split(dim)


_TEXT = re.compile(r"S\((?P<dim>-?\d+)\)|(?P<b>B)|P(\((?P<op>\w+)\))?")


def parse(text):
    """The value that "S(0)", "B", "P" or "P(max)" stands for; a value is handed through.

    ValueError for any other text, TypeError for any other type.
    """
    if isinstance(text, Sbp):
        return text
    if not isinstance(text, str):
        raise TypeError(
            f'an sbp is "S(0)", "B", "P", "P(max)" or such a value, got {text!r} of type {type(text).__name__}'
        )
    match = _TEXT.fullmatch(text.strip())
    if not match:
        raise ValueError(f'{text!r} is no sbp; write "S(0)" (split dim 0), "B", "P" or "P(max)"')
    if match["dim"] is not None:
        return Split(int(match["dim"]))
    return Broadcast() if match["b"] else Partial(match["op"] or "sum")


def parse_many(sbp):
    """One value per mesh axis, from a sequence of texts or values, or from one text such as "S(0), B"."""
    if isinstance(sbp, str):
        return tuple(parse(part) for part in sbp.split(",")) if sbp.strip() else ()
    if isinstance(sbp, Sbp):
        return (sbp,)
    return tuple(parse(part) for part in sbp)


def dual(sbp):
    """The sbp of the gradient of a value with this sbp: B and P change places, S stays.

    ValueError for a partial max, min or prod, which are not linear.
    """
    sbp = parse(sbp)
    if isinstance(sbp, Split):
        return sbp
    if isinstance(sbp, Broadcast):
        return partial_sum
    if sbp.op != "sum":
        raise ValueError(f"{sbp} is not linear, so it has no dual; reduce it to B or S before differentiating")
    return broadcast
