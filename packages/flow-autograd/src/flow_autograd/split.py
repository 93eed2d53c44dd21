"""The reverse pass in two parts: the gradients that an earlier stage of a pipeline waits for now, those of the weights later.

Qi, Wan, Huang and Lin, "Zero bubble pipeline parallelism", 2023, section 2: B and W.
"""

from heapq import heapify, heappop, heappush

from flow_autograd.backward import add_part, as_seeds, gradients_of, memory, own
from flow_autograd.mode import no_grad
from flow_autograd.node import Node, Part


def split_backward(outputs, inputs, grad_outputs=None):
    """(grads, finish): the gradients of the sum of `outputs` for `inputs`, a tuple (None where outputs do not depend on one), and a
    function that, called once later, adds to `.grad` of all other leaves what a whole backward would have added, bit for bit.

    What only leads to other leaves is computed in finish; a rule that gives all its gradients at once is computed now. ValueError from
    finish if it is called twice, or if a saved tensor was overwritten in between.
    """
    inputs = [inputs] if hasattr(inputs, "spec") else list(inputs)
    for i, x in enumerate(inputs):
        if not x.requires_grad:
            raise ValueError(f"split_backward: input {i}, {x.spec}, does not require grad")
    wanted = [x.grad_fn or x for x in inputs]
    with no_grad():
        seeds = as_seeds("split_backward", outputs, grad_outputs)
        split = Split(seeds, wanted)
        split.first()
    return tuple([split.grads.get(place) for place in wanted]), split.finish


class Split:
    """A reverse pass that follows the way to `wanted` first and leaves the rest for later."""

    def __init__(self, seeds, wanted):
        self.wanted = set(wanted)
        self.taken = {memory(g) for _, g in seeds}  # memory that is not ours to give
        self.grads = {}  # place -> gradient, of what the first part has come to
        self.late = {}  # place -> gradient, of the seeds that are not on the way
        self.left = {}  # node with edges off the way -> its gradient, and those of its arguments where they are known
        self.onward = self.places_toward([place for place, _ in seeds])
        for place, g in seeds:
            table = self.grads if place in self.onward else self.late
            add(table, place, g)

    def places_toward(self, starts):
        """The places that lead to a wanted one, themselves included."""
        stack, seen = list(starts), set(starts)
        while stack:
            place = stack.pop()
            for edge in place.edges if isinstance(place, (Node, Part)) else ():
                if edge is not None and edge not in seen:
                    seen.add(edge)
                    stack.append(edge)
        onward = {place for place in seen if place in self.wanted}
        for place in sorted([p for p in seen if isinstance(p, (Node, Part))], key=lambda p: p.number):
            if any(edge in onward for edge in place.edges):
                onward.add(place)
        return onward

    def first(self):
        """Goes to the wanted places; nodes with other edges wait in `left`."""
        waiting = heap(self.grads)
        while waiting:
            place = heappop(waiting)[1]
            g = self.grads[place] if place in self.wanted else self.grads.pop(place)
            if not any(edge in self.onward for edge in place.edges):  # wanted, and the end of the way
                self.late[place] = g
                continue
            if type(place) is Part:
                add_part(self.grads, waiting, place, g)
                continue
            parts = self.parts(place, g, onward=True)
            if any(edge is not None and edge not in self.onward for edge in place.edges):
                self.left[place] = g, parts if place.rule.joint else None
            else:
                place.release()
            for edge, part in zip(place.edges, parts, strict=True):
                if edge in self.onward and part is not None:
                    add(self.grads, edge, part, waiting)

    def parts(self, node, g, onward):
        """The gradients of a node's arguments on the way, or off it; all of them where the rule gives them at once."""
        if node.rule.joint is not None:
            return list(gradients_of(node, g))
        out, saved = (node.output() if node.rule.keeps_out else node.out), node.arguments()
        return [
            None
            if edge is None or f is None or (edge in self.onward) is not onward
            else f(g, out, *saved, **node.attrs)
            for edge, f in zip(node.edges, node.rule.functions, strict=True)
        ]

    def finish(self):
        """Adds the gradients of the leaves that the first part passed by."""
        if self.left is None:
            raise ValueError("split_backward: finish was called already")
        left, self.left = self.left, None
        with no_grad():
            grads = self.late
            waiting = heap({**grads, **dict.fromkeys(left)})
            while waiting:
                place = heappop(waiting)[1]
                if place in left:
                    g, parts = left.pop(place)
                    parts = parts or self.parts(place, g, onward=False)
                    edges = [None if edge in self.onward else edge for edge in place.edges]
                elif type(place) is Part:
                    add_part(grads, waiting, place, grads.pop(place))
                    continue
                else:
                    parts, edges = gradients_of(place, grads.pop(place)), place.edges
                for edge, part in zip(edges, parts, strict=True):
                    if edge is not None and part is not None:
                        add(grads, edge, part, waiting)
                place.release()
            taken = self.taken | {memory(g) for g in self.grads.values()}
            for leaf, g in grads.items():
                leaf.grad = own(g, taken) if leaf.grad is None else leaf.grad + g


def heap(places):
    """The nodes and parts among places, from the highest number down."""
    waiting = [(-p.number, p) for p in places if isinstance(p, (Node, Part))]
    heapify(waiting)
    return waiting


def add(grads, place, g, waiting=None):
    """Adds g to what has come to a place, which waits from its first gradient on."""
    before = grads.get(place)
    grads[place] = g if before is None else before + g
    if before is None and waiting is not None and isinstance(place, (Node, Part)):
        heappush(waiting, (-place.number, place))
