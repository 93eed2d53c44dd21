"""Anomaly mode: the first NaN, in the forward or the reverse pass, is an error that names the op and the line it was called on."""

import contextlib
import linecache
import sys
import threading

import flow_core as flow
from flow_autograd.mode import told_of_nodes
from flow_core.op import interceptor


class On(threading.local):
    """Whether reverse passes of this thread check what they compute, and whether one is computing now."""

    backward = computing = False


on = On()


@contextlib.contextmanager
def detect_anomaly(check_nan=True):
    """Inside, FloatingPointError where an op makes a NaN out of arguments that hold none, and where a derivative does; the message
    names the op and the line of the program that called it. Costs a pass over every result, so it is for searching only.

    Without `check_nan` nodes only remember their line.
    """
    before, inner = on.backward, interceptor.call

    def check(run, op, tensors, attrs):
        out, normal = run(op, tensors, attrs) if inner is None else inner(run, op, tensors, attrs)
        if not on.computing and has_nan(out) and not has_nan(tensors):
            raise FloatingPointError(f"{op.name} made a NaN of arguments without one, called at {line_outside()}")
        return out, normal

    def remember(node):
        node.line = line_outside()

    with told_of_nodes(remember):
        if check_nan:
            on.backward, interceptor.call = True, check
        try:
            yield
        finally:
            on.backward, interceptor.call = before, inner


def checked(gradients_of, node, g):
    """gradients_of(node, g); FloatingPointError if one of them holds NaN."""
    on.computing = True
    try:
        parts = gradients_of(node, g)
    finally:
        on.computing = False
    for i, part in enumerate(parts):
        if has_nan(part):
            line = getattr(node, "line", None)
            where = f"called at {line}" if line else "whose call was not recorded under detect_anomaly"
            raise FloatingPointError(f"the derivative of {node.rule.name} for argument {i} holds NaN: {where}")
    return parts


def has_nan(values):
    """Whether a tensor, or one of a sequence, holds NaN."""
    if isinstance(values, (tuple, list)):
        return any(has_nan(v) for v in values)
    if not hasattr(values, "spec") or values.dtype.kind in "biu":
        return False
    outside, interceptor.call = interceptor.call, None  # the check's own ops are not checked
    try:
        values = values.detach()
        return bool(flow.any(values != values))
    finally:
        interceptor.call = outside


def line_outside():
    """The innermost line that is not flow's own, as `file:line, in function: text`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0].startswith("flow_"):
        frame = frame.f_back
    code, number = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, number, frame.f_globals).strip()
    return f"{code.co_filename}:{number}, in {code.co_name}" + (f": {text}" if text else "")
