"""The reverse pass: from outputs to leaves in falling order of the nodes' numbers, without recursion, adding up in that one order."""

from heapq import heappop, heappush

import numpy as np

import flow_core as flow
from flow_autograd import anomaly, hooks
from flow_autograd.mode import recording, set_grad_enabled
from flow_autograd.node import Node, Part
from flow_core.op import recorder
from flow_core.tensor import new_tensor
from flow_core.writes import clock


def backward(tensors, grad_tensors=None, *, retain_graph=False, create_graph=False):
    """Adds to `.grad` of every leaf that `tensors` depend on the gradient of their sum, weighted by `grad_tensors`.

    `tensors` is a tensor or a sequence of them; one of more than one element needs its grad_tensor. With `create_graph` the
    gradients can be differentiated again.
    """
    before, recorder.call = (
        recorder.call,
        recording.record if create_graph else None,
    )  # as set_grad_enabled, in a sixth of its time
    try:
        seeds = as_seeds("backward", tensors, grad_tensors)
        taken = {memory(g) for _, g in seeds}
        for leaf, g in propagate(seeds, retain_graph or create_graph).items():
            held = leaf.grad
            leaf.grad = own(g, taken) if held is None else held + g
            if hooks.Used.ever:
                hooks.accumulated(leaf)
    finally:
        recorder.call = before


def grad(outputs, inputs, grad_outputs=None, *, retain_graph=None, create_graph=False, allow_unused=False):
    """The tuple of gradients of the (weighted) sum of `outputs` for each of `inputs`; `.grad` is left alone.

    ValueError for an input that requires no grad or that the outputs do not depend on, which `allow_unused` turns into None.
    """
    single = hasattr(inputs, "spec")
    inputs = [inputs] if single else list(inputs)
    for i, x in enumerate(inputs):
        if not x.requires_grad:
            raise ValueError(
                f"grad: input {i}, {x.spec}, does not require grad: call requires_grad_() on it before the forward pass"
            )
    wanted = {x.grad_fn or x for x in inputs}
    with set_grad_enabled(create_graph):
        seeds = as_seeds("grad", outputs, grad_outputs)
        found = propagate(seeds, create_graph if retain_graph is None else retain_graph, wanted)
    grads = tuple([found.get(x.grad_fn or x) for x in inputs])
    if not allow_unused and any(g is None for g in grads):
        i = next(i for i, g in enumerate(grads) if g is None)
        raise ValueError(
            f"grad: the outputs do not depend on input {i}, {inputs[i].spec}; pass allow_unused=True to get None for it"
        )
    return grads


def own(g, taken):
    """g, or a copy of it where its memory is `taken` by another gradient or is a read-only view: a leaf's grad may be written."""
    place = memory(g)
    if place in taken or (type(g) is flow.Tensor and not g.data.flags.writeable):
        return g.clone()
    taken.add(place)
    return g


def memory(g):
    """The identity of the memory that g lies in: of a plain tensor the array that owns it."""
    owner = g.data if type(g) is flow.Tensor else g
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return id(owner)


def as_seeds(name, tensors, grads):
    """Pairs of a place in the graph and the gradient that the pass starts with there."""
    tensors = [tensors] if hasattr(tensors, "spec") else list(tensors)
    grads = [grads] if grads is None or hasattr(grads, "spec") else list(grads)
    grads = grads * len(tensors) if len(grads) == 1 and grads[0] is None else grads
    if len(grads) != len(tensors):
        raise ValueError(f"{name}: {len(tensors)} tensors and {len(grads)} gradients given")
    seeds = []
    for t, g in zip(tensors, grads, strict=True):
        if not t.requires_grad:
            raise ValueError(f"{name}: {t.spec} does not require grad, nothing that led to it was recorded")
        if g is None:
            if t.spec.size != 1:
                raise ValueError(
                    f"{name}: {t.spec} has more than one element: give the gradient to start from, or sum it first"
                )
            # A plain tensor's 1 is made by hand: ones_like, which any kind of tensor answers, takes as long as two ops.
            g = new_tensor(np.ones(t.shape, t.dtype), t.spec) if type(t) is flow.Tensor else flow.ones_like(t)
        if not hasattr(g, "spec"):
            raise TypeError(f"{name}: a gradient is a {type(g).__name__}, expected a tensor like {t.spec} or None")
        if g.shape != t.shape or g.dtype is not t.dtype:
            raise ValueError(f"{name}: the gradient {g.spec} must have the shape and dtype of its tensor, {t.spec}")
        seeds.append((t.grad_fn or t, g))
    return seeds


def propagate(seeds, retain_graph, wanted=()):
    """The gradients by place: of the leaves, and of those nodes that are `wanted`.

    Places wait in a heap and come out by falling number. What adds to a place has a higher number, so its gradient is then whole.
    """
    grads, waiting, hooked, checked = {}, [], hooks.Used.ever, anomaly.on.backward
    for place, g in seeds:
        before = grads.get(place)
        grads[place] = g if before is None else before + g
        if before is None and type(place) in (Node, Part):
            heappush(waiting, (-place.number, place))
    while waiting:
        place = heappop(waiting)[1]
        g = grads.pop(place)
        if hooked:
            g = hooks.arrived(place, g)
        if wanted and place in wanted:
            grads[place] = g
        if type(place) is Part:
            add_part(grads, waiting, place, g)
            continue
        parts = anomaly.checked(gradients_of, place, g) if checked else gradients_of(place, g)
        if hooked:
            parts = hooks.left(place, g, parts)
        for edge, part in zip(place.edges, parts):  # noqa: B905 - strict costs as much as a gradient's addition
            if part is not None and edge is not None:
                before = grads.get(edge)
                if before is not None:
                    grads[edge] = before + part
                else:
                    grads[edge] = part
                    kind = type(edge)
                    if kind is Node or kind is Part:
                        heappush(waiting, (-edge.number, edge))
        if not retain_graph:
            place.release()
    if hooked:
        for place in [p for p in grads if not isinstance(p, (Node, Part))]:
            grads[place] = hooks.arrived(place, grads[place])
    return grads


def add_part(grads, waiting, part, g):
    """Adds the gradient of one output of a node to the list of the node's."""
    node = part.node
    parts = grads.get(node)
    if parts is None:
        if node.out is None:
            node.arguments()  # refuses: it was released
        parts = grads[node] = [None] * len(node.out)
        heappush(waiting, (-node.number, node))
    before = parts[part.index]  # of another Part of the same output: one is made each time the node's output is read
    parts[part.index] = g if before is None else before + g


def gradients_of(node, g):
    """The gradients of a node's arguments, None where none is due."""
    rule, attrs, saved = node.rule, node.attrs, node.saved
    if saved is None or clock.time != node.time:
        saved = node.arguments()
    out = node.output() if rule.keeps_out else node.out
    if rule.joint is not None:
        return rule.joint(g, out, *saved, **attrs)
    functions = rule.functions
    if len(functions) == 2:
        # The loop below, spelled out for most nodes: half its cost.
        f, h = functions
        to_x, to_y = node.edges
        if not attrs:
            x, y = saved
            return (
                None if to_x is None or f is None else f(g, out, x, y),
                None if to_y is None or h is None else h(g, out, x, y),
            )
    if len(functions) == 1:
        return (functions[0](g, out, *saved, **attrs),)
    return [
        None if edge is None or f is None else f(g, out, *saved, **attrs)
        for edge, f in zip(node.edges, functions, strict=True)
    ]
