"""The reverse pass: from outputs to leaves in falling order of the nodes' numbers, without recursion, adding up in that one order."""

from operator import attrgetter

import numpy as np

import flow_core as flow
from flow_autograd.mode import set_grad_enabled
from flow_autograd.node import Node, Part, record
from flow_core.op import recorder
from flow_core.tensor import new_tensor


def backward(tensors, grad_tensors=None, *, retain_graph=False, create_graph=False):
    """Adds to `.grad` of every leaf that `tensors` depend on the gradient of their sum, weighted by `grad_tensors`.

    `tensors` is a tensor or a sequence of them; one of more than one element needs its grad_tensor. With `create_graph` the
    gradients can be differentiated again.
    """
    before, recorder.call = (
        recorder.call,
        record if create_graph else None,
    )  # as set_grad_enabled, in a sixth of its time
    try:
        seeds = as_seeds("backward", tensors, grad_tensors)
        taken = {memory(g) for _, g in seeds}
        for leaf, g in propagate(seeds, retain_graph or create_graph).items():
            held = leaf.grad
            leaf.grad = own(g, taken) if held is None else held + g
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
    """Pairs of a tensor and the gradient that the pass starts with there."""
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
        seeds.append((t, g))
    return seeds


def propagate(seeds, retain_graph, wanted=()):
    """The gradients by place: of the leaves, and of those nodes that are `wanted`."""
    grads = {}
    for t, g in seeds:
        add_to(grads, t.grad_fn or t, g)
    for place in reachable(grads):
        g = grads.get(place) if wanted and place in wanted else grads.pop(place, None)
        if g is None:
            continue
        if type(place) is Part:
            parts = grads.setdefault(place.node, [None] * len(place.node.out))
            parts[place.index] = g if parts[place.index] is None else parts[place.index] + g
            continue
        rule, args, attrs = place.rule, place.arguments(), place.attrs
        out = place.output() if rule.keeps_out else place.out
        if rule.joint is not None:
            for edge, part in zip(place.edges, rule.joint(g, out, *args, **attrs), strict=True):
                if edge is not None and part is not None:
                    add_to(grads, edge, part)
        else:
            for edge, function in zip(place.edges, rule.functions, strict=True):
                if edge is not None and function is not None:
                    add_to(grads, edge, function(g, out, *args, **attrs))
        if not retain_graph:
            place.release()
    return grads


def add_to(grads, place, g):
    """Adds g to what has come to `place` so far."""
    before = grads.get(place)
    grads[place] = g if before is None else before + g


def reachable(places):
    """The nodes and parts that `places` depend on, themselves included, from the highest number down."""
    stack = [p for p in places if type(p) is Node or type(p) is Part]
    seen = set(stack)
    while stack:
        place = stack.pop()
        for edge in place.edges:
            if (type(edge) is Node or type(edge) is Part) and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return sorted(seen, key=number_of, reverse=True)


number_of = attrgetter("number")
