"""Derivatives of flow_core.ops.random, creation and inplace."""

import flow_core as flow
from flow_autograd.vjp import defvjp, no_vjp
from flow_core.ops.creation import arange_from, full, full_as
from flow_core.ops.inplace import adamw_, copy_, mul_
from flow_core.ops.random import normal

# The mask is a function of seed, call and index: the same call on the gradient applies it again.
defvjp(
    flow.dropout_mask,
    lambda g, _out, _x, seed, call, p, window: flow.dropout_mask(g, seed, call, p=p, window=window),
    None,
    None,
)
no_vjp("its outputs do not depend on a tensor", flow.uniform, normal, flow.integers, full, arange_from)
no_vjp("its output depends on its argument's spec alone", full_as)
no_vjp("it overwrites its argument and returns nothing", copy_, mul_, adamw_)
