"""The split reverse pass: input gradients now, the others later, together the bits of a whole one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_autograd as autograd
import flow_core as flow
from flow_autograd import split_backward
from flow_core.op import interceptor
from flow_core.testing import examples


def network(x, w, b, v):
    """A layer with fused and plain ops, one weight used three times, once through a way of its own."""
    h = flow.layer_norm(x, b, None)[0]
    h = flow.gelu(flow.linear(h, w, b)) + h * v.sum()
    a, c = (h @ (v * 2.0)).split([1, 2], dim=1)
    return flow.cat([c, a], dim=1) @ w + flow.softmax(v @ x.T, dim=1).T


def leaves(seed=0):
    rng = np.random.default_rng(seed)
    return [
        flow.tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True)
        for s in [(3, 3), (3, 3), (3,), (3, 3)]
    ]


def bits(tensors):
    return [None if t is None else t.numpy().tobytes() for t in tensors]


@examples(20)
@given(st.sets(st.integers(0, 3), min_size=1), st.integers(0, 5))
def test_both_parts_together_are_a_whole_backward_bit_for_bit(chosen, seed):
    whole = leaves(seed)
    network(*whole).sum().backward()
    parts = leaves(seed)
    inputs = [parts[i] for i in sorted(chosen)]
    grads, finish = split_backward(network(*parts).sum(), inputs)
    assert all(p.grad is None for p in parts)
    finish()
    assert bits(grads) == bits([whole[i].grad for i in sorted(chosen)])
    assert all(p.grad is None for p in inputs)
    assert bits([p.grad for i, p in enumerate(parts) if i not in chosen]) == bits(
        [p.grad for i, p in enumerate(whole) if i not in chosen]
    )


def test_weight_gradients_are_left_for_later():
    names = []

    def call(run, op, tensors, attrs):
        names.append(op.name)
        return run(op, tensors, attrs)

    x, w, b, _ = leaves()
    out = flow.linear(flow.linear(x, w, b), w, b)
    interceptor.call = call
    try:
        _, finish = split_backward(out, x, flow.ones(3, 3))
        assert (names.count("linear_input"), names.count("linear_weight")) == (2, 0)
        finish()
    finally:
        interceptor.call = None
    assert names.count("linear_weight") == 2
    assert (x.grad, w.grad is None, b.grad is None) == (None, False, False)


def test_an_input_may_be_an_activation_and_what_lies_behind_it_comes_later():
    x, w, b, _ = leaves()
    h = flow.linear(x, w, b)
    (g,), finish = split_backward(flow.linear(h, w, b).sum(), [h])
    finish()
    whole = leaves()
    flow.linear(flow.linear(*whole[:3]), *whole[1:3]).sum().backward()
    assert bits([x.grad, w.grad, b.grad]) == bits([t.grad for t in whole[:3]])
    np.testing.assert_allclose(g.numpy(), np.ones((3, 3)) @ w.detach().numpy(), rtol=1e-6)


def test_grads_add_up_and_own_their_memory():
    x, w, _, _ = leaves()
    for _ in range(2):
        (gx,), finish = split_backward((x + w).sum(), x)
        finish()
    assert w.grad.tolist() == [[2.0] * 3] * 3
    w.grad.mul_(0.0)
    assert gx.tolist() == [[1.0] * 3] * 3


def test_what_is_refused():
    x, w, _, _ = leaves()
    with pytest.raises(ValueError, match=r"split_backward: input 0, f32\[3, 3\], does not require grad"):
        split_backward((x @ w).sum(), x.detach())
    (g,), finish = split_backward((w * 2.0).sum(), x)
    assert g is None
    finish()
    with pytest.raises(ValueError, match="finish was called already"):
        finish()
    _, finish = split_backward((x @ w).sum(), x)
    with autograd.no_grad():
        x.mul_(2.0)
    with pytest.raises(ValueError, match="overwritten in place"):
        finish()
