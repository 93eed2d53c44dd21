"""box: the op that lays a global tensor out otherwise. Its gradient is boxed from the dual of the one layout to the dual of the other."""

from flow_autograd import defvjp
from flow_core import Checked, Op

# Imported for what they register: importing `box` alone makes global tensors complete.
from flow_sbp.global_tensor import tensor as tensor
from flow_sbp.layout import Layout


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
defvjp(box, lambda g, _out, _x, layout, src: box(g, layout=gradient_layout(src)))


def gradient_layout(layout):
    """The dual; B also where the parts combine by max, min or prod, since the gradient of such a value is taken of the whole of it."""
    partials = [(axis, "sum") for axis in layout.broadcast_axes]
    return Layout.by_dim(layout.shape, layout.dtype, layout.placement, layout.splits, partials, layout.sizes)
