"""What the graph holds on to, and for how long. References are counted here with the collector of cycles off."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given

import flow_autograd as autograd
import flow_core as flow
from flow_core.testing import CALLS, FLOATS, calls, examples


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", sorted(set(CALLS) & set(autograd.VJPS)))
def test_an_output_dies_with_its_last_reference(name):
    @examples(5)
    @given(calls(name, FLOATS))
    def law(call):
        args = call.tensors()
        for t in args:
            if isinstance(t, flow.Tensor) and t.dtype in FLOATS:
                t.requires_grad_()
        out = call.op(*args, **call.attrs)
        outs = list(out) if isinstance(out, tuple) else [out]
        dead = [weakref.ref(o) for o in outs] + [weakref.ref(t) for t in args if isinstance(t, flow.Tensor)]
        del out, outs, args, t
        assert [r() for r in dead] == [None] * len(dead)

    law()


def test_a_graph_dies_with_its_output_before_and_after_backward():
    for run in (False, True):
        x = flow.tensor(np.arange(4.0), requires_grad=True)
        a = flow.exp(x)
        b, c = flow.split(a, 2)
        y = (flow.softmax(b * c, dim=0) @ c).sum()
        dead = [weakref.ref(t) for t in (a, b, c, y)]
        if run:
            y.backward()
        del a, b, c, y
        assert [r() for r in dead] == [None] * 4
        g = x.grad
        assert (g is not None) == run


def test_after_backward_an_output_holds_none_of_what_was_saved():
    x = flow.tensor(np.arange(4.0), requires_grad=True)
    a = flow.exp(x)
    y = (a * a).sum()
    dead = weakref.ref(a)
    del a
    assert dead() is not None
    y.backward()
    assert dead() is None
    assert y.item() > 0


def test_a_rule_that_needs_no_value_keeps_none():
    x = flow.ones(3).requires_grad_()
    middle = x * 2.0
    y = middle + 1.0  # whose rule wants specs only
    dead = weakref.ref(middle)
    del middle
    assert dead() is None
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_gradients_are_let_go_with_their_leaf():
    x = flow.ones(3).requires_grad_()
    (x * 2.0).sum().backward()
    dead = weakref.ref(x.grad)
    x.grad = None
    assert dead() is None


def test_under_no_grad_nothing_is_kept():
    x = flow.ones(3).requires_grad_()
    with autograd.no_grad():
        middle = x * 2.0
        y = middle * middle
    dead = weakref.ref(middle)
    del middle
    assert dead() is None
    assert y.is_leaf


def test_a_failed_backward_leaves_no_gradient_behind():
    x = flow.ones(3).requires_grad_()
    y = flow.exp(x)
    total = (y * y).sum()
    total.backward(retain_graph=True)
    before = x.grad.tolist()
    y.detach()
    with autograd.no_grad():
        y.mul_(2.0)
    with pytest.raises(ValueError, match="overwritten in place"):
        total.backward()
    assert x.grad.tolist() == before
