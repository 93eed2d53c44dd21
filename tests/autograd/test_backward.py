"""The reverse pass: what it adds up, in which order, how often it may run, and what it refuses."""

import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_autograd as autograd
import flow_core as flow
from flow_core.testing import examples


def leaf(data, dtype=flow.float64):
    return flow.tensor(data, dtype=dtype, requires_grad=True)


def test_a_diamond_adds_up_both_ways():
    x = leaf([2.0, 3.0])
    a = x * x
    (a * 3.0 + a * a).sum().backward()
    assert x.grad.tolist() == [2 * 2 * (3 + 2 * 4), 2 * 3 * (3 + 2 * 9)]


def test_a_tensor_used_as_both_arguments_gets_both_gradients():
    x = leaf([2.0, 3.0])
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 6]
    y = leaf([[1.0, 2.0], [3.0, 4.0]])
    (y @ y).sum().backward()
    ones = np.ones((2, 2))
    np.testing.assert_array_equal(y.grad.numpy(), ones @ y.detach().numpy().T + y.detach().numpy().T @ ones)
    z = leaf([1.0])
    flow.cat([z, z, z]).sum().backward()
    assert z.grad.tolist() == [3]


def test_gradients_add_up_over_backward_passes():
    x = leaf([1.0, 2.0])
    for _ in range(3):
        (x * 2.0).sum().backward()
    assert x.grad.tolist() == [6, 6]
    x.grad = None
    (x * 2.0).sum().backward()
    assert x.grad.tolist() == [2, 2]


FORWARD = {
    "add": lambda a, b, da, db: (a + b, da + db),
    "sub": lambda a, b, da, db: (a - b, da - db),
    "mul": lambda a, b, da, db: (a * b, da * b + a * db),
    "maximum": lambda a, b, da, db: (np.maximum(a, b), np.where(a > b, da, np.where(a < b, db, (da + db) / 2))),
}


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(list(FORWARD))), max_size=20))
def test_a_random_graph_has_the_gradient_of_forward_differentiation(steps):
    """The reference carries each value's derivative along with it."""
    x = leaf([0.5, -0.75])
    nodes = [(x, (np.array([0.5, -0.75]), np.ones(2)))]
    for i, j, name in steps:
        (a, (va, da)), (b, (vb, db)) = nodes[i % len(nodes)], nodes[j % len(nodes)]
        half = FORWARD[name](va * 0.5, vb * 0.5, da * 0.5, db * 0.5)
        nodes.append((flow.OPS[name](a * 0.5, b * 0.5), half))
    out, (value, slope) = nodes[-1]
    np.testing.assert_allclose(out.detach().numpy(), value, rtol=1e-14, atol=1e-14)
    out.backward(flow.ones_like(out))
    # Each of up to 20 steps rounds a few times numbers below 1.
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-13, atol=1e-13)


def test_the_order_of_adding_up_is_fixed():
    rng = np.random.default_rng(0)
    weights = [flow.tensor(rng.normal(size=50).astype(np.float32)) for _ in range(60)]
    start = rng.normal(size=50).astype(np.float32)

    def run():
        x = flow.tensor(start, requires_grad=True)
        parts = [flow.exp(x * w) * w for w in weights]
        total = parts[0]
        for p in parts[1:]:
            total = total + p
        total.sum().backward()
        return x.grad.numpy().tobytes()

    first = run()
    garbage = [object() for _ in range(1000)]  # other addresses, so another order of anything that goes by address
    assert all(run() == first for _ in range(5))
    assert garbage


@pytest.mark.parametrize("length", [100_000])
def test_a_long_chain_needs_no_recursion(length):
    limit = sys.getrecursionlimit()
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1
    assert sys.getrecursionlimit() == limit
    del y  # and is let go without recursion too


def test_unused_outputs_of_an_op_count_as_zeros():
    x = leaf(np.arange(6.0))
    a, b, c = flow.split(x, 2)
    (b * 3.0).sum().backward()
    assert x.grad.tolist() == [0, 0, 3, 3, 0, 0]
    x.grad = None
    a, b, c = flow.split(x, [1, 0, 5])
    (a.sum() + c.sum() * 2.0).backward()
    assert x.grad.tolist() == [1, 2, 2, 2, 2, 2]
    assert b.shape == (0,)


def test_backward_twice_raises_unless_the_graph_is_retained():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(ValueError, match=r"a second time.*retain_graph=True"):
        y.backward()


def test_a_shared_part_of_two_graphs_is_released_by_the_first():
    x = leaf([1.0])
    a = flow.exp(x)
    (a * 2.0).sum().backward()
    with pytest.raises(ValueError, match="retain_graph=True"):
        (a * 3.0).sum().backward()


def test_overwriting_a_saved_tensor_makes_backward_raise():
    x, w = leaf([1.0, 2.0]), flow.tensor([3.0, 4.0], dtype=flow.float64)
    y = (x * w).sum()
    w.mul_(2.0)
    with pytest.raises(ValueError, match=r"a tensor that mul saved .* has been overwritten in place"):
        y.backward()
    y = (x + w).sum()  # which saves nothing
    w.mul_(2.0)
    y.backward()
    assert x.grad.tolist() == [1, 1]


def test_overwriting_a_leaf_after_it_was_used_makes_backward_raise():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with pytest.raises(ValueError, match="copy_: it would overwrite a tensor that requires grad"):
        x.copy_(flow.zeros_like(x))
    with autograd.no_grad():
        x.copy_(flow.zeros_like(x))
    with pytest.raises(ValueError, match="overwritten in place"):
        y.backward()


def test_grad_leaves_grad_alone_and_is_what_backward_adds():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    gx, gy = autograd.grad((x * y).sum(), [x, y])
    assert x.grad is None
    assert y.grad is None
    (x * y).sum().backward()
    assert gx.tolist() == x.grad.tolist()
    assert gy.tolist() == y.grad.tolist()
    (alone,) = autograd.grad((x * y).sum(), x)
    assert alone.tolist() == gx.tolist()


def test_grad_of_an_input_that_is_no_leaf():
    x = leaf([1.0, 2.0])
    a = x * 3.0
    b = a * a
    ga, gx, gb = autograd.grad(b.sum(), [a, x, b])
    assert gb.tolist() == [1, 1]
    assert ga.tolist() == [6, 12]
    assert gx.tolist() == [18, 36]
    assert x.grad is None


def test_grad_of_one_output_of_an_op_of_several():
    x = leaf(np.arange(4.0))
    a, b = flow.split(x, 2)
    ga, gb = autograd.grad((a * b).sum(), [a, b])
    assert ga.tolist() == b.tolist()
    assert gb.tolist() == a.tolist()


def test_grad_of_an_unused_input_raises_or_is_none():
    x, y = leaf([1.0]), leaf([2.0])
    with pytest.raises(ValueError, match=r"do not depend on input 1, f64\[1\]; pass allow_unused=True"):
        autograd.grad((x * 2.0).sum(), [x, y])
    gx, gy = autograd.grad((x * 2.0).sum(), [x, y], allow_unused=True)
    assert gx.tolist() == [2]
    assert gy is None


def test_grad_of_an_input_that_requires_no_grad_raises():
    with pytest.raises(ValueError, match=r"input 0, .* does not require grad"):
        autograd.grad(leaf([1.0]).sum(), flow.ones(1))


def test_grad_of_an_input_that_the_rules_give_nothing_is_none():
    """The row statistics of a fused op are functions of x that its gradient does not differentiate by."""
    logits = leaf([[1.0, 2.0]])
    losses, lse = flow.cross_entropy_rows(logits, flow.tensor([0]))
    (slope,) = autograd.grad(losses.sum(), logits, create_graph=True)
    found = autograd.grad(slope.sum(), [lse, logits], allow_unused=True)
    assert found[0] is None
    assert found[1] is not None


def test_outputs_can_be_weighted_and_several():
    x = leaf([1.0, 2.0])
    w = flow.tensor([10.0, 100.0], dtype=flow.float64)
    (x * x).backward(w)
    assert x.grad.tolist() == [20, 400]
    x.grad = None
    autograd.backward([x * x, x.sum()], [w, None])
    assert x.grad.tolist() == [21, 401]
    (g,) = autograd.grad([x * 2.0, x * 3.0], x, [w, w])
    assert g.tolist() == [50, 500]


def test_create_graph_makes_gradients_differentiable():
    x = leaf([1.0, 2.0, 3.0])
    (slope,) = autograd.grad((x * x * x).sum(), x, create_graph=True)
    (curve,) = autograd.grad(slope.sum(), x, create_graph=True)
    (third,) = autograd.grad(curve.sum(), x)
    assert slope.tolist() == [3, 12, 27]
    assert curve.tolist() == [6, 12, 18]
    assert third.tolist() == [6, 6, 6]
    assert not third.requires_grad
    (plain,) = autograd.grad((x * x).sum(), x)
    assert not plain.requires_grad


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: (x * x).backward(), "has more than one element: give the gradient to start from, or sum it first"),
        (lambda x: x.detach().sum().backward(), "does not require grad, nothing that led to it was recorded"),
        (lambda x: (x * x).backward(flow.ones(3)), "the gradient .* must have the shape and dtype of its tensor"),
        (
            lambda x: (x * x).backward(flow.ones(2)),
            "the gradient f32.* must have the shape and dtype of its tensor, f64",
        ),
        (lambda x: autograd.backward([x, x], [None]), "more than one element"),
        (lambda x: autograd.backward([x.sum()], [None, None]), "1 tensors and 2 gradients given"),
    ],
)
def test_backward_refuses_what_it_would_have_to_guess(call, said):
    with pytest.raises(ValueError, match=said):
        call(leaf([1.0, 2.0]))


def test_a_scalar_leaf_is_its_own_output():
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y,
        lambda x, y: flow.reshape(x, shape=(2, 1)) + flow.reshape(y, shape=(2, 1)),
        lambda x, y: flow.cat([x, y]),
        lambda x, y: x.sum() + y.sum(),
        lambda x, y: x - y.sum(),
    ],
)
def test_gradients_are_the_leaves_own_and_can_be_written(function):
    """Clipping in place must not clip twice what two leaves share, nor meet a read-only view."""
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = function(x, y)
    start = flow.ones_like(out)
    out.backward(start)
    before = y.grad.tolist()
    assert not np.shares_memory(x.grad.data, y.grad.data)
    for g in (x.grad, y.grad):
        assert not np.shares_memory(g.data, start.data)
    x.grad.mul_(0.5)
    assert y.grad.tolist() == before
    y.grad.mul_(2.0)
    assert start.tolist() == flow.ones_like(out).tolist()


def test_the_gradient_handed_to_a_leaf_is_not_the_leaf_s_own():
    x = leaf([1.0, 2.0])
    start = flow.ones_like(x)
    x.backward(start)
    x.grad.mul_(3.0)
    assert start.tolist() == [1, 1]


def test_grad_must_have_the_shape_and_dtype_of_the_tensor():
    x = leaf([1.0, 2.0])
    x.grad = flow.ones(2, dtype=flow.float64)
    with pytest.raises(ValueError, match=r"grad of f64\[2\] is set to f32\[2\]"):
        x.grad = flow.ones(2)
    with pytest.raises(ValueError, match=r"is set to f64\[3\]"):
        x.grad = flow.ones(3, dtype=flow.float64)


def test_backward_passes_run_in_several_threads_at_once():
    found = {}

    def run(k):
        x = leaf(np.full(3, float(k)))
        for _ in range(50):
            x.grad = None
            (flow.exp(x * 0.1) * x).sum().backward()
        found[k] = x.grad.numpy()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], np.exp(0.1 * k) * (1 + 0.1 * k), rtol=1e-14)


@pytest.mark.parametrize("alias", [lambda x: x.detach(), lambda x: x.reshape(2, 1), lambda x: x[:1]])
def test_overwriting_a_saved_tensor_through_what_shares_its_memory_makes_backward_raise(alias):
    x, w = leaf([1.0, 2.0]), flow.tensor([3.0, 4.0], dtype=flow.float64)
    y = (x * w).sum()
    alias(w).mul_(2.0)
    with pytest.raises(ValueError, match="overwritten in place"):
        y.backward()


def test_a_gradient_that_is_no_tensor_is_a_type_error():
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match=r"backward: a gradient is a int, expected a tensor like f64\[2\]"):
        (x * 2).backward([3])
    with pytest.raises(TypeError, match=r"grad of f64\[2\] is set to a int: give a tensor or None"):
        x.grad = 3
