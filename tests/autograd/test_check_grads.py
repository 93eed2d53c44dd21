"""check_grads finds what is wrong and passes what is right."""

import math

import numpy as np
import pytest

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_autograd.vjp import Rule

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]])
Y = np.array([1.0, 2.0, -1.5])


def planted(monkeypatch, op, *functions):
    """Gives `op` another rule until the test ends."""
    rule = autograd.VJPS[op.name]
    monkeypatch.setitem(
        autograd.VJPS, op.name, rule._replace(functions=functions, keeps=(True,) * len(rule.keeps), keeps_out=True)
    )


def test_a_right_rule_passes():
    check_grads(lambda x, y: flow.tanh(x * y), X, Y, order=3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g, out, x: g * out,  # another function's
        lambda g, out, x: -g * (1 - out * out),  # a sign
        lambda g, out, x: g * (1 - out * out) * (1 + 1e-4),  # a small factor
        lambda g, out, x: g * (1 - out * out) + 1e-3,  # a small term
        lambda g, out, x: flow.zeros_like(x),
        lambda g, out, x: None,
        lambda g, out, x: 1 - out * out,  # does not use g
    ],
)
def test_a_planted_wrong_rule_is_caught(monkeypatch, wrong):
    planted(monkeypatch, flow.tanh, wrong)
    with pytest.raises(AssertionError, match="gradient of argument 0"):
        check_grads(flow.tanh, X, order=1)


def test_a_rule_right_at_first_order_and_wrong_at_second_is_caught(monkeypatch):
    planted(monkeypatch, flow.tanh, lambda g, out, x: g * (1 - out * out).detach())
    check_grads(flow.tanh, X, order=1)
    with pytest.raises(AssertionError, match="gradient of argument 0"):
        check_grads(flow.tanh, X, order=2)


def test_a_rule_wrong_in_its_second_argument_is_caught(monkeypatch):
    monkeypatch.setitem(autograd.VJPS, "mul", autograd.VJPS["mul"]._replace(functions=(None, None)))
    with pytest.raises(AssertionError, match="gradient of argument 0"):
        check_grads(lambda x, y: flow.mul(x, y), X, Y, order=1)


def test_a_wrong_gradient_of_one_of_several_outputs_is_caught(monkeypatch):
    name = "split_sizes"
    right = autograd.VJPS[name]

    def without_the_last(g, out, x, sizes, dim):
        return right.joint((*g[:-1], None), out, x, sizes, dim)

    monkeypatch.setitem(autograd.VJPS, name, right._replace(joint=without_the_last))
    with pytest.raises(AssertionError, match="gradient of argument 0"):
        check_grads(lambda x: flow.split(x, [1, 2], 1), X, order=1)


def test_an_op_falsely_said_to_have_no_derivative_is_caught(monkeypatch):
    monkeypatch.delitem(autograd.VJPS, "tanh")
    monkeypatch.setitem(autograd.NO_VJP, "tanh", "it was forgotten")
    with pytest.raises(AssertionError, match=r"gradient of argument 0: 0\.0"):
        check_grads(flow.tanh, X)


def test_a_detached_part_is_caught():
    with pytest.raises(AssertionError, match="gradient of argument 0"):
        check_grads(lambda x: x * x.detach(), X)


def test_what_does_not_depend_on_its_arguments_passes():
    check_grads(lambda x: flow.zeros_like(x), X)
    check_grads(lambda x, y: y * 2.0, X, Y)
    check_grads(lambda x: x.sum(), X, order=3)  # whose second derivatives are 0 and unrecorded


def test_its_tolerance_is_far_above_rounding_and_far_below_a_mistake():
    """A difference of step 1e-5 errs by 1e-10 f''' / 6 and 1e-16 / 1e-5; here both are a millionth of the tolerance's scale at most."""
    for f, slope in ((flow.exp, np.exp), (flow.log, lambda x: 1 / x), (flow.tanh, lambda x: 1 - np.tanh(x) ** 2)):
        x = np.array(0.7)
        eps = 1e-5
        difference = (f(flow.tensor(x + eps)).item() - f(flow.tensor(x - eps)).item()) / (2 * eps)
        assert abs(difference - slope(0.7)) < 1e-9 < 1e-6 * max(abs(slope(0.7)), 1) / 100


def test_an_op_without_a_rule_says_so():
    def twice(x, /):
        """x + x."""
        return x

    op = flow.Op("twice_for_this_test", twice, {"cpu": lambda x, /: lambda a: a + a})
    try:
        x = flow.tensor(X, requires_grad=True)
        with pytest.raises(TypeError, match=r"twice_for_this_test has no derivative: call it on x\.detach"):
            op(x)
        assert op(x.detach()).tolist() == (2 * X).tolist()
        autograd.defvjp(op, lambda g, _out, _x: g + g)
        check_grads(op, X)
    finally:
        flow.OPS.pop(op.name)
        autograd.VJPS.pop(op.name, None)


def test_a_rule_for_no_op_of_ours_is_refused():
    class Stranger:
        name = "add"

    with pytest.raises((ValueError, AttributeError)):
        autograd.defvjp(Stranger(), lambda g, _out, _x: g)
    assert isinstance(autograd.VJPS["add"], Rule)


def test_vjp_gives_the_value_and_pulls_gradients_back():
    out, pull = autograd.vjp(lambda x, y: x * y, flow.tensor(X), flow.tensor(Y))
    np.testing.assert_array_equal(out.detach().numpy(), X * Y)
    gx, gy = pull(flow.ones(2, 3, dtype=flow.float64))
    np.testing.assert_array_equal(gx.detach().numpy(), np.broadcast_to(Y, X.shape))
    np.testing.assert_array_equal(gy.detach().numpy(), X.sum(0))


def test_vjp_of_several_outputs_takes_none_for_zeros():
    x = flow.tensor(Y)
    (a, b), pull = autograd.vjp(lambda x: (flow.exp(x), x * x), x)
    (g,) = pull((None, flow.ones_like(b)))
    np.testing.assert_array_equal(g.detach().numpy(), 2 * Y)
    assert pull((None, None)) == (None,)
    assert a.shape == (3,)


def test_vjp_of_an_integer_argument_is_none():
    ids = flow.tensor([0, 2])
    _, pull = autograd.vjp(lambda ids, w: flow.take_rows(ids, w), ids, flow.tensor(X.T))
    gids, gw = pull(flow.ones(2, 2, dtype=flow.float64))
    assert gids is None
    assert gw.detach().tolist() == [[1, 1], [0, 0], [1, 1]]


def test_vjp_inside_vjp_is_the_second_derivative():
    def slope(x):
        return autograd.vjp(lambda x: flow.exp(x * 2.0).sum(), x)[1](flow.ones(dtype=flow.float64))[0]

    check_grads(slope, Y, order=1)
    with autograd.no_grad():
        (g,) = autograd.vjp(lambda x: (x * x).sum(), flow.tensor(Y))[1](flow.ones(dtype=flow.float64))
    assert g.tolist() == (2 * Y).tolist()
    assert not math.isnan(g.sum().item())
