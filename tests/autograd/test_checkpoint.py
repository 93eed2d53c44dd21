"""Checkpointing: the gradients of the plain run, in less memory, plain and by policy."""

import numpy as np
import pytest

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.op import interceptor

RNG = np.random.default_rng(0)


def block(x, w):
    return flow.tanh(flow.linear(x, w)) * flow.sigmoid(x)


def deep(x, w, run):
    for _ in range(3):
        x = run(block, x, w)
    return x


def gradients(run, **kwargs):
    x, w = (flow.tensor(RNG_ARRAYS[n], requires_grad=True) for n in ("x", "w"))
    deep(x, w, lambda f, *args: run(f, *args, **kwargs)).sum().backward()
    return x.grad.numpy().tobytes(), w.grad.numpy().tobytes()


RNG_ARRAYS = {"x": RNG.standard_normal((4, 5)).astype(np.float32), "w": RNG.standard_normal((5, 5)).astype(np.float32)}


def plain(function, *args):
    return function(*args)


@pytest.mark.parametrize(
    "policy", [None, autograd.keep("linear"), autograd.keep("tanh", "mul"), lambda op, *a, **k: True]
)
def test_it_gives_the_bits_of_the_plain_run(policy):
    assert gradients(autograd.checkpoint, policy=policy) == gradients(plain)


@pytest.mark.parametrize("policy", [None, autograd.keep("linear")])
def test_it_can_be_differentiated_again_and_nested(policy):
    w = RNG.standard_normal((3, 3))
    check_grads(lambda x: deep(x, flow.from_numpy(w), lambda *a: autograd.checkpoint(*a, policy=policy)), w, order=2)

    def both(x):
        return autograd.checkpoint(lambda y: autograd.checkpoint(block, y * y, flow.from_numpy(w), policy=policy), x)

    check_grads(both, w, order=2)


def counted(function):
    """The names of the ops that a function calls."""
    names = []

    def call(run, op, tensors, attrs):
        names.append(op.name)
        return run(op, tensors, attrs)

    interceptor.call = call
    try:
        function()
    finally:
        interceptor.call = None
    return names


def test_the_graph_keeps_arguments_only_and_the_policy_spares_ops_the_second_run():
    x, w = flow.tensor(RNG_ARRAYS["x"], requires_grad=True), flow.tensor(RNG_ARRAYS["w"], requires_grad=True)
    kept = autograd.checkpoint(block, x, w)
    sizes = [getattr(s.content, "spec", s.content) for s in kept.grad_fn.saved if hasattr(s, "content")]
    assert sizes == [0, 1] or all(isinstance(s, int) for s in sizes)  # numbers stand for the tensors
    assert counted(kept.sum().backward).count("linear") == 1
    kept = autograd.checkpoint(block, x, w, policy=autograd.keep("linear"))
    assert counted(kept.sum().backward).count("linear") == 0
    assert counted(autograd.checkpoint(block, x, w, policy=autograd.keep("linear")).sum().backward).count("tanh") == 1


def test_random_ops_draw_the_same_numbers_again_and_the_generator_goes_on_as_if_nothing_was():
    def noisy(x):
        return flow.dropout(x * 2.0, 0.5)

    def run(how):
        flow.manual_seed(7)
        x = flow.tensor(RNG_ARRAYS["x"], requires_grad=True)
        y = how(noisy, x)
        z = flow.dropout(y, 0.5)
        z.sum().backward()
        return z.detach().tolist(), x.grad.tolist(), flow.rand(3).tolist()

    assert run(autograd.checkpoint) == run(plain)


def test_two_backward_passes_run_it_twice_more():
    x = flow.tensor(RNG_ARRAYS["x"], requires_grad=True)
    y = autograd.checkpoint(flow.exp, x * 2.0).sum()
    y.backward(retain_graph=True)
    once = x.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * once)


def test_a_function_that_does_other_things_the_second_time_is_refused():
    calls = []

    def fickle(x):
        calls.append(0)
        return flow.exp(x) if len(calls) == 1 else flow.exp(flow.exp(x))

    y = autograd.checkpoint(fickle, flow.ones(2).requires_grad_())
    with pytest.raises(ValueError, match=r"checkpoint: fickle saved .* it must do the same each time"):
        y.sum().backward()


def test_without_recording_it_is_a_call():
    with autograd.no_grad():
        assert not autograd.checkpoint(flow.exp, flow.ones(2).requires_grad_()).requires_grad
