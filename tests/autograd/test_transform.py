"""Functional transforms against each other, finite differences and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_autograd as autograd
import flow_core as flow
from flow_autograd import func
from flow_autograd.testing import check_grads
from flow_core.testing import examples

RNG = np.random.default_rng(0)


def tensor(*shape):
    return flow.from_numpy(RNG.standard_normal(shape))


def curved(x):
    return flow.tanh(x @ x).sum() * x[0, 1] + flow.exp(x[0, 0])


def test_a_jvp_is_the_jacobian_times_the_tangent_and_a_vjp_its_transpose_times_the_cotangent():
    x, v, g = tensor(3, 3), tensor(3, 3), tensor(3, 3)

    def f(a):
        return flow.exp(a) @ a

    jacobian = autograd.jacobian(f, x).numpy()
    out, pushed = autograd.jvp(f, (x,), (v,))
    _, pull = autograd.vjp(f, x)
    np.testing.assert_allclose(out.numpy(), f(x).numpy())
    np.testing.assert_allclose(pushed.numpy(), np.einsum("ijkl,kl", jacobian, v.numpy()), rtol=1e-12)
    np.testing.assert_allclose(pull(g)[0].detach().numpy(), np.einsum("ij,ijkl", g.numpy(), jacobian), rtol=1e-12)


def test_a_hessian_is_symmetric_and_agrees_with_hvp_and_closed_forms():
    x, v = tensor(3, 3), tensor(3, 3)
    hessian = autograd.hessian(curved, x).numpy()
    np.testing.assert_allclose(hessian, hessian.transpose(2, 3, 0, 1), rtol=1e-10, atol=1e-12)
    out, product = autograd.hvp(curved, x, v)
    assert out.item() == pytest.approx(curved(x).item())
    np.testing.assert_allclose(product.numpy(), np.einsum("ijkl,kl", hessian, v.numpy()), rtol=1e-10)
    a = tensor(4, 4)
    np.testing.assert_allclose(
        autograd.hessian(lambda y: y @ a @ y, tensor(4)).numpy(), a.numpy() + a.numpy().T, rtol=1e-12
    )


def test_several_arguments_and_results_are_nested_results_outside():
    x, y = tensor(2), tensor(3)

    def f(a, b):
        return a * a, b.sum() * a

    jacobian = autograd.jacobian(f, (x, y))
    assert [[j.shape for j in row] for row in jacobian] == [[(2, 2), (2, 3)], [(2, 2), (2, 3)]]
    np.testing.assert_allclose(jacobian[0][0].numpy(), np.diag(2 * x.numpy()))
    assert not jacobian[0][1].numpy().any()
    np.testing.assert_allclose(jacobian[1][1].numpy(), np.outer(x.numpy(), np.ones(3)))
    hessian = autograd.hessian(lambda a, b: (a * a).sum() * b.sum(), (x, y))
    np.testing.assert_allclose(hessian[0][1].numpy(), np.outer(2 * x.numpy(), np.ones(3)))
    _, (hx, hy) = autograd.hvp(lambda a, b: (a * a).sum() * b.sum(), (x, y), (flow.ones_like(x), flow.zeros_like(y)))
    np.testing.assert_allclose(hx.numpy(), 2 * y.numpy().sum() * np.ones(2))
    np.testing.assert_allclose(hy.numpy(), 2 * x.numpy().sum() * np.ones(3))


def test_what_does_not_depend_on_an_input_is_zero():
    x = tensor(2)
    assert autograd.jacobian(lambda a: flow.ones(3, dtype=flow.float64), x).tolist() == [[0.0, 0.0]] * 3
    assert autograd.hessian(lambda a: a.sum(), x).tolist() == [[0.0, 0.0]] * 2
    assert autograd.jvp(lambda a: flow.sign(a), (x,), (x,))[1].tolist() == [0.0, 0.0]
    assert autograd.jacobian(lambda a: a[:0] * 2.0, x).shape == (0, 2)
    assert autograd.hvp(lambda a: a.sum(), x, x)[1].tolist() == [0.0, 0.0]


def test_transforms_can_be_differentiated():
    a = RNG.standard_normal((2, 2))
    check_grads(lambda x: autograd.jvp(lambda y: flow.exp(y) @ y, (x,), (x * 2.0,))[1], a, order=1, rtol=1e-5)
    check_grads(lambda x: autograd.hvp(curved, x, flow.from_numpy(a))[1], a, order=1, rtol=1e-5)
    check_grads(lambda x: func.grad(lambda y: (y**3).sum())(x), a, order=2)


@examples(20)
@given(st.integers(1, 4))
def test_nested_gradients_of_a_power(order):
    x = flow.tensor(1.5, dtype=flow.float64)
    f = lambda y: y**4  # noqa: E731
    for _ in range(order):
        f = func.grad(f)
    expected = {1: 4 * 1.5**3, 2: 12 * 1.5**2, 3: 24 * 1.5, 4: 24.0}[order]
    assert f(x).item() == pytest.approx(expected)


def test_the_names_of_torch_func():
    x, w = tensor(3), tensor(3)
    g, value = func.grad_and_value(lambda a, b: (a * b).sum(), argnums=1)(x, w)
    np.testing.assert_array_equal(g.detach().numpy(), x.numpy())
    assert value.item() == pytest.approx(x.numpy() @ w.numpy())
    both = func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, w)
    assert [t.tolist() for t in both] == [w.tolist(), x.tolist()]
    np.testing.assert_allclose(func.jacrev(lambda a, b: a * b, argnums=0)(x, w).numpy(), np.diag(w.numpy()))
    assert func.hessian(lambda a, b: (a * b).sum())(x, w).tolist() == [[0.0] * 3] * 3


def test_what_is_refused():
    x = tensor(3)
    with pytest.raises(ValueError, match=r"hvp: the function returned f64\[3\], expected a tensor of one element"):
        autograd.hvp(lambda a: a * 2.0, x, x)
    with pytest.raises(ValueError, match="hessian: the function returned"):
        autograd.hessian(lambda a: a * 2.0, x)
    with pytest.raises(ValueError, match="grad: the function returned 3"):
        func.grad(lambda a: 3)(x)
    with pytest.raises(ValueError, match="1 primals and 2 tangents"):
        autograd.jvp(flow.exp, (x,), (x, x))
    with pytest.raises(ValueError, match=r"the tangent f64\[2\] of f64\[3\]"):
        autograd.jvp(flow.exp, (x,), (tensor(2),))
    with pytest.raises(ValueError, match="argnums 2: the function is called with 1 arguments"):
        func.grad(flow.sum, argnums=2)(x)
