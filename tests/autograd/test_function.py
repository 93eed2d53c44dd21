"""Functions of one's own: forward, backward, what they save, and what they are refused."""

import numpy as np
import pytest

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads


class Exp(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = flow.exp(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out


class Scaled(autograd.Function):
    """(x y, x + y, the sign of x), with a number that has no gradient."""

    @staticmethod
    def forward(ctx, x, y, factor):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        sign = flow.sign(x)
        ctx.mark_non_differentiable(sign)
        return x * y * factor, x + y, sign

    @staticmethod
    def backward(ctx, g, h, _):
        x, y = ctx.saved_tensors
        assert ctx.needs_input_grad[2] is False
        return g * y * ctx.factor + h, g * x * ctx.factor + h, None


def test_it_is_differentiable_to_any_order_where_backward_is_written_in_ops():
    check_grads(Exp.apply, np.random.default_rng(0).standard_normal(3), order=3)
    arrays = np.random.default_rng(1).standard_normal((2, 3))
    check_grads(lambda x, y: Scaled.apply(x, y, 3.0)[:2], *arrays, order=2)
    check_grads(lambda x, y: Scaled.apply(x, y, 3.0)[0], *arrays, order=2)


def test_results_have_a_place_in_the_graph_as_those_of_ops():
    x = flow.tensor([1.0, -2.0], requires_grad=True)
    a, b, sign = Scaled.apply(x, flow.tensor([3.0, 4.0]), 2.0)
    assert (a.requires_grad, b.requires_grad, sign.requires_grad) == (True, True, False)
    assert "Scaled" in repr(a.grad_fn)
    b.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="backward came to Scaled a second time"):
        a.sum().backward()


def test_nothing_is_recorded_where_nothing_requires_grad():
    assert not Exp.apply(flow.ones(2)).requires_grad
    with autograd.no_grad():
        assert not Exp.apply(flow.ones(2).requires_grad_()).requires_grad


def test_an_argument_that_comes_back_is_another_tensor():
    class Same(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return -g

    x = flow.ones(2).requires_grad_()
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0]


def test_a_saved_tensor_that_was_overwritten_is_an_error():
    class Keeps(autograd.Function):
        @staticmethod
        def forward(ctx, x, scratch):
            ctx.save_for_backward(scratch)
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    scratch = flow.ones(2)
    y = Keeps.apply(flow.ones(2).requires_grad_(), scratch)
    scratch.mul_(2.0)
    with pytest.raises(ValueError, match="Keeps saved for its gradient has been overwritten"):
        y.sum().backward()


def test_saved_tensors_hooks_pack_what_it_saves():
    count = []
    x = flow.tensor([1.0], requires_grad=True)
    with autograd.saved_tensors_hooks(lambda t: count.append(t.spec) or t.numpy(), flow.from_numpy):
        y = Exp.apply(x * 2.0)
    assert len(count) == 1
    y.backward()
    assert x.grad.item() == pytest.approx(2 * np.exp(2), rel=1e-6)


@pytest.mark.parametrize(
    ("returned", "error", "said"),
    [
        (lambda g: (g, g), ValueError, "returned 2 gradients for 1 arguments"),
        (lambda g: 1.0, TypeError, "returned a float for argument 0"),
        (lambda g: g.sum(), ValueError, r"returned f32\[\] for argument 0, which is f32\[2\]"),
        (lambda g: g.to(flow.float64), ValueError, r"returned f64\[2\] for argument 0"),
    ],
    ids=["count", "kind", "shape", "dtype"],
)
def test_what_backward_must_return(returned, error, said):
    class Bad(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return returned(g)

    with pytest.raises(error, match=said):
        Bad.apply(flow.ones(2).requires_grad_()).sum().backward()


def test_what_forward_must_return_and_save():
    class Bad(autograd.Function):
        @staticmethod
        def forward(ctx, x, saved):
            if saved:
                ctx.save_for_backward(3)
            return 3

    with pytest.raises(TypeError, match="forward returned a int"):
        Bad.apply(flow.ones(2), False)
    with pytest.raises(TypeError, match="a int is no tensor; set an attribute of ctx"):
        Bad.apply(flow.ones(2), True)
    with pytest.raises(NotImplementedError, match="forward"):
        autograd.Function.apply(flow.ones(1))
