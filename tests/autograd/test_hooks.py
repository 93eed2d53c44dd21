"""Hooks on tensors, nodes and leaves, and retain_grad: what they see, what they may change, and when."""

import gc
import weakref

import pytest

import flow_autograd
import flow_core as flow


def leaf(*data):
    return flow.tensor(data, dtype=flow.float64, requires_grad=True)


def test_a_hook_sees_the_whole_gradient_once_and_what_it_returns_flows_on():
    x = leaf(1.0, 2.0)
    y = x * 3.0
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10.0)
    (y * y + y).sum().backward()  # two ways to y, one call
    assert seen == [[7.0, 13.0]]
    assert x.grad.tolist() == [210.0, 390.0]


def test_hooks_of_a_leaf_change_what_is_added_to_its_grad_and_can_be_removed():
    x = leaf(1.0)
    with x.register_hook(lambda g: g + 1.0) as handle:
        (x * 2.0).backward()
        assert x.grad.tolist() == [3.0]
    (x * 2.0).backward()
    assert x.grad.tolist() == [5.0]
    handle.remove()  # removed already: nothing happens


def test_hooks_run_for_grad_too_and_those_of_an_input_change_it():
    x = leaf(1.0)
    y = x * 2.0
    y.register_hook(lambda g: g * 5.0)
    x.register_hook(lambda g: g * 7.0)
    assert [g.tolist() for g in flow_autograd.grad(y * 3.0, [x, y])] == [[210.0], [15.0]]
    assert x.grad is None


def test_a_hook_on_one_output_of_several():
    x = leaf(1.0, 2.0, 3.0)
    a, b = x.split([1, 2])
    b.register_hook(lambda g: g * 0.0)
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0]


def test_retain_grad_adds_up_in_a_tensor_that_is_no_leaf():
    x = leaf(1.0, 2.0)
    y = x * 2.0
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()  # a leaf's grad is kept anyway
    (y * y).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [4.0, 8.0]
    (y * 1.0).sum().backward()
    assert y.grad.tolist() == [5.0, 9.0]


def test_retain_grad_does_not_keep_the_tensor_alive():
    x = leaf(1.0)
    y = x * 2.0
    y.retain_grad()
    gone, z = weakref.ref(y), y + 3.0  # whose rule needs no y
    del y
    gc.collect()
    assert gone() is None
    z.backward()
    assert x.grad.tolist() == [2.0]


def test_a_leaf_is_told_after_its_grad_was_added_to():
    x, seen = leaf(1.0), []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2.0).backward()
    (x * 2.0).backward()
    handle.remove()
    (x * 2.0).backward()
    assert seen == [(True, [2.0]), (True, [4.0])]


def test_hooks_of_a_node_see_and_change_the_gradients_of_its_results_and_arguments():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    seen = []
    z.grad_fn.register_prehook(lambda outs: (outs[0] * 2.0,))
    z.grad_fn.register_hook(lambda ins, outs: seen.append(([g.tolist() for g in ins], [g.tolist() for g in outs])))
    z.grad_fn.register_hook(lambda ins, outs: (None, ins[1] * 100.0))
    z.backward()
    assert seen == [([[6.0], [4.0]], [[2.0]])]
    assert x.grad is None
    assert y.grad.tolist() == [400.0]


def test_a_node_of_several_results_has_none_where_one_was_not_used():
    x, seen = leaf(1.0, 2.0, 3.0), []
    a, _ = x.split([1, 2])
    a.grad_fn.node.register_prehook(lambda outs: seen.append([g if g is None else g.tolist() for g in outs]))
    a.backward()
    assert seen == [[[1.0], None]]
    assert x.grad.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("hook", "error", "said"),
    [
        (lambda g: 1.0, TypeError, "a hook returned a float, expected a tensor or None"),
        (lambda g: flow.zeros(3, dtype=flow.float64), ValueError, r"f64\[3\] for the gradient f64\[2\]"),
        (lambda g: g.to(flow.float32), ValueError, r"f32\[2\] for the gradient f64\[2\]"),
    ],
    ids=["number", "shape", "dtype"],
)
def test_what_a_hook_must_not_return(hook, error, said):
    x = leaf(1.0, 2.0)
    y = x * 2.0
    y.register_hook(hook)
    with pytest.raises(error, match=said):
        y.sum().backward()


def test_what_hooks_are_refused():
    x = leaf(1.0)
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(ValueError, match=rf"{name}: f64\[1\] does not require grad"):
            getattr(x.detach(), name)(print)
        with pytest.raises(TypeError, match="a hook is a int, expected a function"):
            getattr(x, name)(3)
    with pytest.raises(ValueError, match="does not require grad"):
        x.detach().retain_grad()
    with pytest.raises(ValueError, match="is no leaf"):
        (x * 2.0).register_post_accumulate_grad_hook(print)
    y = x * 2.0
    y.grad_fn.register_hook(lambda ins, outs: (None, None, None))
    with pytest.raises(ValueError, match="expected None or a tuple of"):
        y.backward()
