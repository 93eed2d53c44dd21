"""Node: what a recorded call leaves behind for the backward pass. The recorder, which flow_core's ops call, makes one."""

import itertools

from flow_autograd.vjp import NO_VJP, VJPS
from flow_core.op import recorder
from flow_core.tensor import Tensor
from flow_core.writes import clock

new = object.__new__
next_number = itertools.count().__next__


class Node:
    """One recorded call. Its number is above those of all the nodes it depends on.

    `edges[i]` leads on from argument i: to the Node or Part that made it, to the tensor itself if it is a leaf, or is None where no
    gradient is wanted. `saved` holds the arguments as the rule wants them: a tensor, its spec, or a plain number.
    """

    # _hooks and line stay unset until someone sets them: recording pays only for what it uses.
    __slots__ = ("_hooks", "attrs", "edges", "line", "number", "out", "rule", "saved", "time")

    def __repr__(self):
        return f"<{self.rule.name} {self.number}>"

    def arguments(self):
        """The saved arguments, unpacked; ValueError if they were released, or if one has been overwritten since."""
        if self.saved is None:
            raise ValueError(
                f"backward came to {self.rule.name} a second time, and what it saved was released the first time: "
                "pass retain_graph=True to the first backward"
            )
        if self.time is None:
            return [s.tensor() if type(s) is Packed else s for s in self.saved]
        if clock.time != self.time:
            self.check_unwritten()
        return self.saved

    def check_unwritten(self):
        """ValueError if the memory of something saved was written since the call."""
        kept = self.out if type(self.out) is tuple else (self.out,)
        if any([hasattr(t, "last_write") and t.last_write() > self.time for t in (*self.saved, *kept)]):
            raise ValueError(
                f"a tensor that {self.rule.name} saved for its gradient has been overwritten in place since: "
                "take the backward pass before the step that writes to it, or give the op a clone()"
            )

    def output(self):
        """The output as the rule wants it: its specs, or tensors that come from this node."""
        if not self.rule.keeps_out:
            return self.out
        if type(self.out) is tuple:
            return tuple([attach_to(t.detach(), Part(self, i)) for i, t in enumerate(map(unpacked, self.out))])
        return attach_to(unpacked(self.out).detach(), self)

    def release(self):
        """Lets go of what was saved."""
        self.saved = self.out = None


class Packed:
    """A saved tensor as pack hooks left it: what they returned, how to get the tensor back, and where in the graph that stands."""

    __slots__ = ("content", "place", "spec", "unpack")

    def __init__(self, content, unpack, spec, place):
        self.content = content
        self.unpack = unpack
        self.spec = spec
        self.place = place

    def tensor(self):
        """The tensor; ValueError if what comes back is another."""
        t = self.unpack(self.content)
        if getattr(t, "spec", None) is not self.spec:
            raise ValueError(f"an unpack hook returned {getattr(t, 'spec', t)!r} for a saved tensor {self.spec}")
        return t if self.place is None else attach_to(t.detach(), self.place)


def unpacked(saved):
    """A saved tensor, out of its pack if it is in one."""
    return saved.tensor() if type(saved) is Packed else saved


class Part:
    """The place in the graph of one output of a node that has several."""

    __slots__ = ("_hooks", "edges", "index", "node", "number")

    def __init__(self, node, index):
        self.node = node
        self.index = index
        self.number = next_number()
        self.edges = (node,)

    def __repr__(self):
        return f"<{self.node.rule.name} {self.node.number}, output {self.index}>"


def record(op, tensors, attrs, out):
    """Makes the Node of a call and hangs its output on it."""
    rule = VJPS.get(op.name)
    if rule is None or rule.skips is not None:
        if op.name in NO_VJP or (rule is not None and rule.skips(attrs)):
            return
        if rule is None:
            raise TypeError(
                f"{op.name} has no derivative: call it on x.detach(), or define one with flow_autograd.defvjp"
            )
    node = new(Node)
    node.rule = rule
    node.attrs = attrs
    node.number = next_number()
    node.time = clock.time
    if type(out) is tuple:
        # What is kept of an output is not the output itself, which hangs on this node: that would be a cycle.
        node.out = tuple([t.detach() if rule.keeps_out else t.spec for t in out])
        for i, t in enumerate(out):
            attach_to(t, Part(node, i))
    else:
        node.out = out.detach() if rule.keeps_out else out.spec
        out.requires_grad = True
        out.grad_fn = node
    keeps = rule.keeps
    if len(tensors) == 2 and type(tensors[0]) is Tensor is type(tensors[1]) and len(keeps) == 2:
        # The loop below, spelled out for the one or two tensors of most calls: half its cost.
        a, b = tensors
        keep_a, keep_b = keeps
        node.saved = (a if keep_a else a.spec, b if keep_b else b.spec)
        node.edges = ((a.grad_fn or a) if a.requires_grad else None, (b.grad_fn or b) if b.requires_grad else None)
        return
    if len(tensors) == 1 and type(tensors[0]) is Tensor:
        (a,) = tensors
        node.saved = (a if keeps[0] else a.spec,)
        node.edges = (a.grad_fn or a,)
        return
    saved, edges = [], []
    if len(keeps) < len(tensors):
        keeps = keeps + keeps[-1:] * (len(tensors) - len(keeps))
    for t, keep in zip(tensors, keeps, strict=True):
        if type(t) is not Tensor and not hasattr(t, "spec"):  # a Python number, or None
            saved.append(t)
            edges.append(None)
            continue
        saved.append(t if keep else t.spec)
        edges.append((t.grad_fn or t) if t.requires_grad else None)
    node.saved, node.edges = saved, edges


def attach_to(tensor, place):
    """The tensor, made an output of `place`."""
    tensor.requires_grad = True
    tensor.grad_fn = place
    return tensor


type(recorder).call = staticmethod(record)  # in every thread; grad modes set it in their own
