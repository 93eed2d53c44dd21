"""The rows of CALLS for ops that walk along one dim."""

from flow_core.testing.draw import BOOL, COMPLEX, FLOAT, INT


def walk(*categories, min_side=0, **attrs):
    def row(d):
        x = d.array(d.shape(min_side=min_side), d.dtype(*categories))
        return [x], {"dim": d.dim(x.ndim), **{name: d.one_of(*values) for name, values in attrs.items()}}

    return row


def logcumsumexp_backward(d):
    shape, dtype = d.shape(), d.dtype(FLOAT)
    g, x, out = (d.array(shape, dtype) for _ in range(3))
    return [g, x, out], {"dim": d.dim(x.ndim)}


RUNNING = {
    "logcumsumexp_backward": logcumsumexp_backward,
    "cumprod": walk(BOOL, INT, FLOAT, COMPLEX),
    "extreme_so_far": walk(BOOL, INT, FLOAT, largest=(True, False)),
    "logcumsumexp": walk(FLOAT),
    "mode_place": walk(BOOL, INT, FLOAT, min_side=1),
}
