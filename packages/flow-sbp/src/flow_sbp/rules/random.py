"""Sharding rules of random ops: a part draws the numbers of its place in the whole."""

from flow_sbp.signature import Rule


def dropout_mask(x, seed, call, p, window):
    return Rule("... -> ...", ((0,),))


def local_window(attrs, ins, outs, rank):
    """Where this rank's part lies in the whole."""
    return {**attrs, "window": (outs[0].shape, tuple(s.start for s in outs[0].local_slices(rank)))}


RULES = {"dropout_mask": dropout_mask}
LOCAL = {"dropout_mask": local_window}
