"""What a partial value's parts are combined by: the neutral element, and a fold in one fixed order that rounds once."""

from dataclasses import dataclass

import numpy as np

from flow_sbp.dtype import narrow, widen

COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}

_INFINITY = {"max": -np.inf, "min": np.inf}


def neutral(op, dtype):
    """The word that changes nothing under `op`, as a numpy scalar of the dtype's words."""
    if op in ("sum", "prod"):
        value = 0 if op == "sum" else 1
    elif dtype.words.kind == "b":
        value = op == "min"
    elif dtype.words.kind in "iu" and dtype.name != "bf16":
        info = np.iinfo(dtype.words)
        value = info.min if op == "max" else info.max
    else:
        value = _INFINITY[op]
    return narrow(np.array([value], dtype=dtype.sums), dtype)[0]


def refusal(op, dtype):
    """Why a dtype cannot be partial of this kind, or None."""
    if dtype.words.kind == "b" and op in ("sum", "prod"):
        return f"bool has no {op}; P(max) is any, P(min) is all"
    if dtype.words.kind == "c" and op in ("max", "min"):
        return f"complex numbers have no order, so no {op}"
    return None


@dataclass(eq=False)
class Fold:
    """Combines addends that arrive in order, into `out` (an array of words), in the dtype's sums.

    `runs` are (op, count), outermost first: with [("sum", 2), ("max", 3)] the addends come as two rows of three, and
    the result is the sum of the rows' maxima. A single run of a dtype that needs no widening folds in `out` itself.
    """

    runs: tuple
    out: np.ndarray
    dtype: object

    def __post_init__(self):
        self.in_place = len(self.runs) == 1 and self.dtype.words == self.dtype.sums
        self.levels = [None] * len(self.runs)
        self.seen = [0] * len(self.runs)

    def add(self, words):
        """Take the next addend, of out's shape."""
        if self.in_place:
            if self.seen[0] == 0:
                self.out[...] = words
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    COMBINE[self.runs[0][0]](self.out, words, out=self.out)
            self.seen[0] += 1
            return
        part = widen(words, self.dtype)
        for level in reversed(range(len(self.runs))):
            op, count = self.runs[level]
            if self.seen[level] == 0:
                self.levels[level] = np.array(part)
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    COMBINE[op](self.levels[level], part, out=self.levels[level])
            self.seen[level] += 1
            if self.seen[level] < count:
                return
            part, self.levels[level], self.seen[level] = self.levels[level], None, 0
        self.out[...] = narrow(part, self.dtype)
