"""Every op's derivative agrees with finite differences, to second order, on every call that the strategies draw."""

import numpy as np
import pytest
from hypothesis import assume, given

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import CALLS, DTYPES, FLOATS, calls, examples

# The backward ops of fused ones take what the forward op returned as if it depended on nothing, and their derivatives are those of
# the whole: they are right where they stand, in the second derivative of the forward op, and have no others.
OF_THE_WHOLE = {
    "layer_norm_backward": "layer_norm",
    "cross_entropy_rows_backward": "cross_entropy_rows",
    "attention_backward": "attention",
    "logcumsumexp_backward": "logcumsumexp",
}
# Of symmetric matrices, of a choice of signs, of factors, or of a second argument alone: test_algebra.py has their laws; of complex
# numbers: test_complex.py has them.
LAWS_ELSEWHERE = {
    "zeta",
    "gammainc",
    "gammaincc",
    "cholesky",
    "cholesky_solve",
    "eigh",
    "svd",
    "qr",
    "view_as_real",
    "view_as_complex",
}
# Their first outputs alone have a gradient: the others are for their gradients to use.
FIRST_ONLY = {"layer_norm", "cross_entropy_rows", "attention"}
REAL = tuple(d for d in DTYPES if d.kind != "c")
DIFFERENTIABLE = sorted(set(CALLS) & set(autograd.VJPS) - set(OF_THE_WHOLE) - LAWS_ELSEWHERE)


def floats(call):
    """The places of the arguments that have a gradient."""
    return [i for i, a in enumerate(call.args) if isinstance(a, np.ndarray) and a.dtype == np.float64]


def as_function(call):
    """The call as a function of its float arguments, the others held; of several outputs a tuple."""
    places = floats(call)

    def function(*tensors):
        args = call.tensors()
        for i, t in zip(places, tensors, strict=True):
            args[i] = t
        out = call.op(*args, **call.attrs)
        return out[0] if call.name in FIRST_ONLY else out

    return function, [call.args[i] for i in places]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_derivative_agrees_with_finite_differences_to_second_order(name):
    @examples(12)
    @given(calls(name, (flow.float64,), smooth=True))
    def law(call):
        function, arrays = as_function(call)
        assume(name != "mean" or arrays[0].size)  # the mean of nothing is NaN
        check_grads(function, *arrays, order=2)

    law()


@pytest.mark.parametrize("name", OF_THE_WHOLE.values())
def test_a_fused_op_agrees_with_finite_differences_to_third_order(name):
    @examples(4)
    @given(calls(name, (flow.float64,), smooth=True))
    def law(call):
        function, arrays = as_function(call)
        check_grads(function, *arrays, order=3)

    law()


@pytest.mark.parametrize("name", sorted(set(CALLS) & set(autograd.VJPS)))
def test_a_gradient_has_the_shape_and_dtype_of_its_argument(name):
    @examples(25)
    @given(calls(name, REAL))
    def law(call):
        args = call.tensors()
        leaves = [t.requires_grad_() for t in args if isinstance(t, flow.Tensor) and t.dtype in FLOATS]
        out = call.op(*args, **call.attrs)
        outs = out if isinstance(out, tuple) else (out,)
        outs = [o for o in (outs[:1] if name in FIRST_ONLY else outs) if o.requires_grad]
        if not outs:
            assert name == "cast" or not leaves
            return
        for leaf in leaves:
            assert leaf.requires_grad
        grads = autograd.grad(outs, leaves, [flow.ones_like(o) for o in outs], allow_unused=True)
        for leaf, g in zip(leaves, grads, strict=True):
            assert g is None or g.spec is leaf.spec
            assert g is None or not g.requires_grad

    law()


@pytest.mark.parametrize("name", sorted(set(CALLS) & set(autograd.NO_VJP)))
def test_an_op_without_a_derivative_records_nothing(name):
    @examples(5)
    @given(calls(name))
    def law(call):
        args = call.tensors()
        leaves = [t.requires_grad_() for t in args if isinstance(t, flow.Tensor) and t.dtype in FLOATS]
        if isinstance(call.op, flow.InPlaceOp):
            if leaves:
                with pytest.raises(ValueError, match=rf"{name}: it would overwrite"):
                    call.op(*args, **call.attrs)
            return
        out = call.op(*args, **call.attrs)
        for o in out if isinstance(out, tuple) else (out,):
            assert not o.requires_grad
            assert o.is_leaf

    law()


def test_the_statistics_of_fused_ops_have_no_gradient():
    x = flow.tensor([[1.0, 2.0]], requires_grad=True)
    _, mean, rstd = flow.layer_norm(x)
    for out in (mean, rstd):
        with pytest.raises(TypeError, match=r"layer_norm: the statistics .* have no gradient"):
            out.sum().backward(retain_graph=True)
    _, lse = flow.cross_entropy_rows(x, flow.tensor([0]))
    with pytest.raises(TypeError, match=r"cross_entropy_rows: the statistics .* have no gradient"):
        lse.sum().backward()
