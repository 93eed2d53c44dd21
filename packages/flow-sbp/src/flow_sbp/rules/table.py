"""The rules of all ops, keyed by the op's name; files are named as the ops' files are."""

from typing import NamedTuple

from flow_sbp.rules import (
    along,
    attention,
    binary,
    complex,
    conv,
    creation,
    elementwise,
    index,
    linalg,
    nn,
    pool,
    random,
    reduce,
    running,
    shape,
    special,
    strided,
    unary,
    window,
)
from flow_sbp.signature import Rule

MODULES = (
    along,
    attention,
    binary,
    complex,
    conv,
    creation,
    elementwise,
    index,
    linalg,
    nn,
    pool,
    random,
    reduce,
    running,
    shape,
    special,
    strided,
    unary,
    window,
)

# name -> a Rule, or a function row(*args, **attrs) to one; an arg has .shape and .dtype, or is None for a number or an absent tensor
TABLE = {name: row for module in MODULES for name, row in module.RULES.items()}

# name -> function local(attrs, input layouts, output layouts, rank) to the attributes of the op on that rank's parts
LOCAL = {name: row for module in MODULES for name, row in getattr(module, "LOCAL", {}).items()}

# op name -> why it has no rule
NO_RULE = {
    **dict.fromkeys(("full", "arange_from", "uniform", "normal", "integers"), "it takes no tensor"),
    **dict.fromkeys(("copy_", "mul_", "adamw_"), "it writes in place: its layouts are its targets'"),
    **dict.fromkeys(
        """inv solve solve_triangular cholesky_solve det cofactor slogdet lu_factor permutation ldl_factor ldl_solve conjugate modulus
        cholesky qr geqrf eigh eig svd pinv matrix_exp fftn ifftn rfftn irfftn hfftn ihfftn irfftn_adjoint rfft_pairs
        rfft_pairs_adjoint strided add_strided""".split(),
        "no rule yet: lay its inputs out as B",
    ),
    "box": "it is what changes layouts",
}


class Shaped(NamedTuple):
    """An argument of which the shape alone is known."""

    shape: tuple
    dtype: str = "f32"


def rule_of(name, args, attrs=None):
    """The Rule of an op for these arguments: shapes, or what has .shape and .dtype, as layouts; None for a number or an absent tensor.

    ValueError for an op without one.
    """
    if name not in TABLE:
        raise ValueError(f"op {name!r} has no sharding rule; add a row to TABLE, or run it on inputs that lie as B")
    row = TABLE[name]
    args = [Shaped(a) if isinstance(a, tuple) else a for a in args]
    return row if isinstance(row, Rule) else row(*args, **(attrs or {}))
