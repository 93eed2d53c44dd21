"""Sharding rules of attention: batch and heads split; queries, keys and the dims of a head are whole."""

from flow_sbp.rules.dims import text
from flow_sbp.signature import Rule

WHOLE = ("t", "s", "d", "e")


def parts(q):
    b = [f"b{i}" for i in range(len(q.shape) - 2)]
    return b, [*b, "t", "d"], [*b, "s", "d"], [*b, "s", "e"], [*b, "t", "e"], [*b, "t"]


def attention(q, k, v, causal, scale):
    _, *tensors = parts(q)
    q, k, v, out, lse = tensors
    return Rule(text([q, k, v], [out, lse]), whole=WHOLE)


def attention_backward(g, q, k, v, out, lse, causal, scale):
    _, *tensors = parts(q)
    q, k, v, out, lse = tensors
    return Rule(text([out, q, k, v, out, lse], [q, k, v]), ((0,),), whole=WHOLE)


RULES = {"attention": attention, "attention_backward": attention_backward}
