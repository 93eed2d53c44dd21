"""Sharding rules of random ops: a part draws the numbers of its place in the whole."""

from flow_sbp.signature import Rule


def dropout_mask(x, seed, call, p, window):
    return Rule("... -> ...", ((0,),))


def local_window(attrs, ins, outs, rank):
    """Where this rank's part lies in the whole, or in what the whole is a window of."""
    whole, starts = attrs["window"] or (outs[0].shape, (0,) * outs[0].ndim)
    slices = outs[0].local_slices(rank)
    return {**attrs, "window": (whole, tuple(start + s.start for start, s in zip(starts, slices, strict=True)))}


RULES = {"dropout_mask": dropout_mask}
LOCAL = {"dropout_mask": local_window}
