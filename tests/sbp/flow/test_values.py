"""An op on global tensors gives the value of the op on the whole, however its arguments lie; and moves what it says it moves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import CALLS, calls, examples
from flow_sbp import Counting, Placement, spmd
from flow_sbp.global_tensor import GlobalTensor, global_tensor, trace
from flow_sbp.rules.inplace import TARGETS
from flow_sbp.rules.table import TABLE
from flow_sbp.testing import layouts
from flow_sbp.validate import addends

DTYPES = flow.bool, flow.int64, flow.float64  # of which most ops take the last alone
MESHES = [Placement([0, 1], "x"), Placement([2, 0, 1], "x"), Placement([[0, 1], [2, 3]], ("x", "y"))]
TOLERANCE = {np.dtype("f4"): 1e-5, np.dtype("f8"): 1e-9}


@st.composite
def laid_out(draw, name):
    """(call, mesh, a layout for each array of it, numpy's generator): pieces of any size, axes in any order, parts of any kind."""
    call, mesh = draw(calls(name, DTYPES)), draw(st.sampled_from(MESHES))
    laid = []
    for a in call.args:
        if isinstance(a, np.ndarray):
            kinds = ("max",) if a.dtype == bool else ("sum",) if a.dtype.kind == "c" else ("sum", "max")
            laid.append(draw(layouts(a.shape, a.dtype.name, mesh, kinds)))
    return call, mesh, laid, np.random.default_rng(0)


def arguments(call, mesh, laid, rng):
    """For each rank a function from its communicator to the call's arguments, global tensors."""
    arrays = [a for a in call.args if isinstance(a, np.ndarray)]
    parts = [dict(zip(mesh.ranks, addends(a, lay, rng), strict=True)) for a, lay in zip(arrays, laid, strict=True)]

    def on(comm):
        made = (global_tensor(flow.from_numpy(p[comm.rank]), lay, comm) for p, lay in zip(parts, laid, strict=True))
        return [next(made) if isinstance(a, np.ndarray) else a for a in call.args]

    return on


@pytest.mark.parametrize("name", sorted(set(TABLE) & set(CALLS)))
def test_the_value_is_the_op_s_on_the_whole_and_the_bytes_are_the_plans(name):
    @examples(10)
    @given(laid_out(name))
    def law(drawn):
        call, mesh, _, _ = drawn
        expected, args = [t.numpy() for t in call.run()], arguments(*drawn)

        def on_each_rank(comm):
            comm = Counting(comm)
            with trace() as log:
                outs = call.op(*args(comm), **call.attrs)
            sent, planned = comm.bytes_sent, sum(plan.bytes_on_wire for _, _, plan in log)
            outs = outs if isinstance(outs, tuple) else (outs,)
            assert all(type(out) is GlobalTensor for out in outs)
            assert all(op == name for op, _, _ in log)
            return sent, planned, [out.full().numpy() for out in outs], [str(out.layout) for out in outs]

        results = spmd(mesh.size, on_each_rank)
        assert sum(sent for sent, _, _, _ in results) == results[0][1]
        for _, planned, values, laid in results:
            assert (planned, laid) == (results[0][1], results[0][3])
            for got, want in zip(values, expected, strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, *[TOLERANCE.get(want.dtype, 0)] * 2)

    law()


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_an_op_in_place_writes_the_value_that_it_writes_on_the_whole_or_refuses(name):
    @examples(60)
    @given(laid_out(name))
    def law(drawn):
        call, mesh, laid, _ = drawn
        whole, args = call.tensors(), arguments(*drawn)
        call.op(*whole, **call.attrs)
        expected = [t.numpy() for t in whole if isinstance(t, flow.Tensor)]

        def on_each_rank(comm):
            tensors = args(comm)
            try:
                call.op(*tensors, **call.attrs)
            except ValueError as error:
                return str(error)
            return [t.full().numpy() for t in tensors if isinstance(t, GlobalTensor)]

        results = spmd(mesh.size, on_each_rank)
        if isinstance(results[0], str):
            assert len(set(results)) == 1
            assert refusable(name, laid, call.args), results[0]
            return
        for values in results:
            for got, want in zip(values, expected, strict=True):
                np.testing.assert_allclose(got, want, 1e-6, 1e-6)

    law()


def refusable(name, laid, args):
    """Whether an op in place may say no: to targets that are partial, and to a state that does not lie as its parameter does."""
    if name == "adamw_":
        n = (len(args) - 3) // 4
        return any(lay.partials for lay in laid[:n]) or laid[: 3 * n] != laid[:n] * 3
    if name == "put_at_":  # nor to a target that is split: an index names places in all of it
        return bool(laid[0].partials) or any(laid[0].splits)
    return any(op != "sum" for _, op in laid[0].partials) or (bool(laid[0].partials) and name == "copy_")
