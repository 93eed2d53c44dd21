"""Sharding rules of reductions: a split dim that is reduced leaves the result partial in the reduction's kind."""

from flow_sbp.rules.dims import names, text
from flow_sbp.signature import Rule


def reduction(kind=None, linear=()):
    """The row of a reduction whose parts combine by `kind`; without one, the reduced dims must be whole."""

    def row(x, dim, keepdim):
        dims = names(x)
        reduced = [dims[d] for d in dim]
        out = ["1" if name in reduced else name for name in dims if keepdim or name not in reduced]
        return Rule(text([dims], [out]), linear, reduce=kind or "sum", whole=() if kind else tuple(reduced))

    return row


def argmax(x, dim, keepdim):
    """Indices are of the whole dim; a 0-d tensor has none, though it takes dim 0."""
    dims = range(len(x.shape))
    return reduction()(x, dims if dim is None else dims[dim : dim + 1], keepdim)


def sum_of_squares(x):
    return Rule(text([names(x)], [[]]))


RULES = {
    "sum": reduction("sum", linear=((0,),)),
    "mean": reduction(linear=((0,),)),  # it divides by the whole count, so no rank may take it over a part
    "amax": reduction("max"),
    "amin": reduction("min"),
    "any": reduction(),
    "all": reduction(),
    "argmax": argmax,
    "sum_of_squares": sum_of_squares,
}

# What a rank without elements adds to the result, where the op itself refuses to reduce nothing: the neutral element of this kind.
OF_NOTHING = {"amax": "max", "amin": "min"}
