"""box: the op that lays a global tensor out otherwise. Its gradient is boxed from the dual of the one layout to the dual of the other."""

from flow_autograd import defvjp
from flow_core import Checked, Op

# Imported for what they register: importing `box` alone makes global tensors complete.
from flow_sbp.global_tensor import tensor as tensor


def infer(x, /, *, layout, src=None):
    """x, a global tensor, laid out by `layout`, of the same shape and dtype. The value stays, the bytes are plan(x.layout, layout)'s.

    `src`, x's own layout, is filled in by the call.
    """
    return Checked(x, {"layout": layout, "src": src})


def kernel(x, /, *, layout, src):
    raise TypeError(
        "box takes a global tensor; a plain one becomes global by distribute(x, placement, sbp) or from_shards(...)"
    )


box = Op("box", infer, {"cpu": kernel}, linear=(0,))
defvjp(box, lambda g, _out, _x, layout, src: box(g, layout=src.dual()))
