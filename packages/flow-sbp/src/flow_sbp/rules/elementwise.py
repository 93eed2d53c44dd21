"""Sharding rules of elementwise ops: every output dim splits; what is linear keeps partial values partial."""

from flow_sbp.signature import Rule

UNARY = "... -> ..."
BINARY = "..., ... -> ..."

RULES = {
    "add": Rule(BINARY, linear=((0, 1),)),
    "sub": Rule(BINARY, linear=((0, 1),)),
    "mul": Rule(BINARY, linear=((0,), (1,))),
    "div": Rule(BINARY, linear=((0,),)),
    "neg": Rule(UNARY, linear=((0,),)),
    "exp": Rule(UNARY),
}
