"""Sharding rules of ops between complex numbers and their parts."""

from flow_sbp.rules.dims import names, text
from flow_sbp.signature import Rule


def view_as_real(x):
    return Rule(text([names(x)], [[*names(x), "n"]]), ((0,),), fresh=(("n", 2),))


def view_as_complex(x):
    dims = names(x)
    return Rule(text([dims], [dims[:-1]]), ((0,),), whole=(dims[-1],))


RULES = {"view_as_real": view_as_real, "view_as_complex": view_as_complex}
