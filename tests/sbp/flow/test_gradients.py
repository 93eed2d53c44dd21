"""Gradients through global tensors are those of the whole, however the arguments lie."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flow_autograd as autograd
import flow_core as flow
from flow_core.testing import CALLS, calls, examples
from flow_sbp import Layout, Placement, spmd
from flow_sbp.global_tensor import distribute, explicit, global_tensor, set_comm, trace
from flow_sbp.rules.table import TABLE
from flow_sbp.testing import layouts
from flow_sbp.validate import addends

MESHES = [Placement([0, 1], "x"), Placement([2, 0, 1], "x"), Placement([[0, 1], [2, 3]], ("x", "y"))]
MESH = MESHES[2]
FIRST_ONLY = {"layer_norm", "cross_entropy_rows", "attention"}  # what they return beside their outputs has no gradient
# Their derivatives, which only second derivatives need, are taken of functions that make plain tensors.
PLAIN_INSIDE = {"cross_entropy_rows_backward", "attention_backward"}
COMPLEX = {"view_as_real", "view_as_complex"}  # the weights of the sum below are real
DIFFERENTIABLE = sorted(set(TABLE) & set(CALLS) & set(autograd.VJPS) - PLAIN_INSIDE - COMPLEX)


@st.composite
def laid_out(draw, name):
    """(call, mesh, a layout for each array of it)."""
    call, mesh = draw(calls(name, (flow.float64,), smooth=True)), draw(st.sampled_from(MESHES))
    kinds = {"f": ("sum",), "i": ("sum",), "u": ("sum",), "b": ("max",)}
    arrays = [a for a in call.args if isinstance(a, np.ndarray)]
    return call, mesh, [draw(layouts(a.shape, a.dtype.name, mesh, kinds[a.dtype.kind])) for a in arrays]


def gradients(call, tensors, weights):
    """The gradients of the weighted sum of the call's outputs, one for each of the float tensors."""
    leaves = [t.requires_grad_() for t in tensors if hasattr(t, "spec") and t.dtype is flow.float64]
    out = call.op(*tensors, **call.attrs)
    outs = out if isinstance(out, tuple) else (out,)
    total = 0.0
    for o, w in zip(outs[:1] if call.name in FIRST_ONLY else outs, weights, strict=False):
        total = total + (o * w).sum()
    total.backward()
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_gradient_is_that_of_the_whole(name):
    @examples(8)
    @given(laid_out(name))
    def law(drawn):
        call, mesh, laid = drawn
        arrays = [a for a in call.args if isinstance(a, np.ndarray)]
        assume(any(a.dtype == np.float64 for a in arrays))
        assume(name != "mean" or arrays[0].size)  # the mean of nothing is NaN
        rng = np.random.default_rng(0)
        weights = [rng.uniform(0.5, 1.5, o.shape) for o in call.run()]
        assume(name != "cast" or call.attrs["dtype"] == np.float64)
        expected = gradients(call, call.tensors(), [flow.from_numpy(np.asarray(w)) for w in weights])
        parts = [dict(zip(mesh.ranks, addends(a, lay, rng), strict=True)) for a, lay in zip(arrays, laid, strict=True)]

        def on_each_rank(comm):
            made = (global_tensor(flow.from_numpy(p[comm.rank]), lay, comm) for p, lay in zip(parts, laid, strict=True))
            tensors = [next(made) if isinstance(a, np.ndarray) else a for a in call.args]
            scale = [distribute(np.asarray(w), mesh, ["B"] * len(mesh.axes), comm=comm) for w in weights]
            return [None if g is None else g.full().numpy() for g in gradients(call, tensors, scale)]

        for found in spmd(mesh.size, on_each_rank):
            for got, want in zip(found, expected, strict=True):
                assert (got is None) == (want is None)
                if want is not None:
                    np.testing.assert_allclose(got, want.numpy(), 1e-9, 1e-9)

    law()


def value_of(shape):
    return np.random.default_rng(1).normal(size=shape)


SBPS = ["B, B", "S(0), B", "S(1), S(0)", "S(0), S(0)", "P, B", "P, S(1)", "P, P"]


@pytest.mark.parametrize("src", SBPS)
@pytest.mark.parametrize("dst", SBPS)
def test_the_gradient_of_moving_is_moved_from_the_dual_of_the_one_layout_to_the_dual_of_the_other(src, dst):
    shape = (5, 3)
    here, there = (Layout(shape, "f64", MESH, sbp) for sbp in (src, dst))

    def on_each_rank(comm):
        set_comm(comm)
        x = distribute(value_of(shape), MESH, src).requires_grad_()
        y = x.to_global(sbp=dst)
        g = distribute(value_of(shape) + 1, MESH, there.dual().sbp)
        with explicit(), trace() as log:
            y.backward(g)
        np.testing.assert_array_equal(y.detach().full().numpy(), x.detach().full().numpy())
        np.testing.assert_allclose(x.grad.full().numpy(), value_of(shape) + 1, 1e-15)
        assert x.grad.layout == here.dual()
        return [(plan.src, plan.dst) for _, _, plan in log]

    moves = [] if here == there else [(there.dual(), here.dual())]
    assert spmd(4, on_each_rank) == [moves] * 4


def test_a_gradient_comes_back_from_another_mesh():
    far = Placement([3, 1], "z")

    def on_each_rank(comm):
        set_comm(comm)
        x = distribute(value_of((5, 3)), Placement([0, 2, 1], "x"), "S(0)").requires_grad_()
        y = x.to_global(placement=far, sbp="S(1)")
        (y * y).sum().backward()
        assert (y.shard is None) == (comm.rank not in far)
        if comm.rank == 3:
            assert x.grad.shard is None
            return
        np.testing.assert_allclose(x.grad.full().numpy(), 2 * value_of((5, 3)), 1e-12)

    spmd(4, on_each_rank)


def test_a_largest_element_that_is_moved_has_its_gradient():
    def on_each_rank(comm):
        set_comm(comm)
        x = distribute(value_of((5, 3)), MESH, "S(0), B").requires_grad_()
        largest = x.amax()
        assert str(largest.layout) == "f64[] P(max)@x"
        largest.to_global(sbp="B, B").backward()
        return x.grad.full().numpy()

    for g in spmd(4, on_each_rank):
        np.testing.assert_array_equal(g, value_of((5, 3)) == value_of((5, 3)).max())


@pytest.mark.parametrize("summed", [True, False])
def test_gradients_of_two_leaves_share_no_memory_and_can_be_written(summed):
    def on_each_rank(comm):
        set_comm(comm)
        x, y, z = (distribute(value_of((4, 3)), MESH, ["S(0)", "B"]).requires_grad_() for _ in range(3))
        out = x + y.to_global(sbp="S(0), B") + z.reshape(4, 3)
        seed = None if summed else distribute(np.ones((4, 3)), MESH, "S(0), B")
        (out.sum() if summed else out).backward(seed)
        for leaf in (x, y, z):
            leaf.grad.mul_(2)
        assert seed is None or (seed.full().numpy() == 1).all()
        return [leaf.grad.full().numpy() for leaf in (x, y, z)]

    for found in spmd(4, on_each_rank):
        np.testing.assert_array_equal(found, np.full((3, 4, 3), 2.0))


@pytest.mark.parametrize("sbp", ["B, B", "S(0), S(1)", "P, S(0)"])
def test_second_derivatives_are_those_of_the_whole(sbp):
    def second(x):
        y = (flow.gelu(x) * flow.exp(x)).sum()
        (g,) = autograd.grad(y, [x], create_graph=True)
        (h,) = autograd.grad((g * g).sum(), [x])
        return h

    expected = second(flow.tensor(value_of((5, 3)), requires_grad=True)).numpy()

    def on_each_rank(comm):
        set_comm(comm)
        return second(distribute(value_of((5, 3)), MESH, sbp).requires_grad_()).full().numpy()

    for got in spmd(4, on_each_rank):
        np.testing.assert_allclose(got, expected, 1e-9)


def test_gradients_add_up_over_passes_and_stop_at_detach():
    def on_each_rank(comm):
        set_comm(comm)
        x = distribute(value_of((5, 3)), MESH, "S(0), B").requires_grad_()
        for _ in range(2):
            (x * x.detach()).sum().backward()
        with autograd.no_grad():
            assert not (x * x).requires_grad
        return x.grad.full().numpy()

    for g in spmd(4, on_each_rank):
        np.testing.assert_allclose(g, 2 * value_of((5, 3)), 1e-15)


def test_what_a_gradient_needs_and_was_overwritten_is_refused():
    def on_each_rank(comm):
        set_comm(comm)
        x, w = (distribute(value_of((5, 3)), MESH, one).requires_grad_() for one in ("S(0), B", "B, S(1)"))
        y = (x * w).sum()
        with autograd.no_grad():
            w.mul_(2)
        with pytest.raises(ValueError, match="overwritten in place since"):
            y.backward()
        with pytest.raises(ValueError, match="requires grad; call it under no_grad"):
            w.mul_(2)

    spmd(4, on_each_rank)
