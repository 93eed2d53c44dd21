"""Derivatives of flow_core.ops.index."""

import flow_core as flow
from flow_autograd.vjp import defvjp
from flow_core.ops.index import slice_

defvjp(slice_, lambda g, _out, _x, index: flow.slice_backward(g, index=index, shape=_x.shape))
defvjp(flow.slice_backward, lambda g, _out, _g, index, shape: slice_(g, index=index))
defvjp(flow.take_rows, None, lambda g, _out, ids, _weight: flow.add_rows(g, ids, num_rows=_weight.shape[0]))
defvjp(flow.add_rows, lambda g, _out, _g, ids, num_rows: flow.take_rows(ids, g), None)
