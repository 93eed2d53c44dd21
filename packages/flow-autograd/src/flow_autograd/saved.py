"""Hooks on what the graph saves: a tensor is packed when its node is recorded, and unpacked when the reverse pass needs it."""

import contextlib
import threading

from flow_autograd.mode import told_of_nodes
from flow_autograd.node import Packed


class Innermost(threading.local):
    """The function that packs nodes now: of nested contexts the inner one's."""

    pack_node = None


innermost = Innermost()


@contextlib.contextmanager
def saved_tensors_hooks(pack, unpack):
    """Of each tensor that a call recorded inside saves, the graph keeps `pack(tensor)`; the reverse pass takes `unpack` of that.

    unpack must return a tensor of the same shape and dtype. Leaves that require grad are kept as they are: the program holds them
    anyway. Of two nested contexts the inner packs. A packed value is the hooks' own: writes to the original are not noticed.
    """

    def pack_node(node):
        if innermost.pack_node is pack_node:
            node.saved = [packed(t) for t in node.saved]
            node.out = tuple([packed(t) for t in node.out]) if type(node.out) is tuple else packed(node.out)
            node.time = None

    def packed(t):
        if not hasattr(t, "detach") or (t.requires_grad and t.grad_fn is None):
            return t
        return Packed(pack(t.detach()), unpack, t.spec, t.grad_fn)

    before, innermost.pack_node = innermost.pack_node, pack_node
    try:
        with told_of_nodes(pack_node):
            yield
    finally:
        innermost.pack_node = before
