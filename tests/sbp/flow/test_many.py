"""Boxing many tensors at once gives the bits, and sends the bytes, of boxing each alone; in fewer messages."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flow_core as flow
from flow_sbp import Counting, Layout, Placement, spmd
from flow_sbp.global_tensor import absent, box_many, explicit, global_tensor, trace
from flow_sbp.testing import layouts, sbps
from flow_sbp.validate import addends

MESHES = [Placement([2, 0, 1], "x"), Placement([[0, 1], [2, 3]], ("x", "y"))]
SHAPES = [(), (1,), (7, 5), (0, 3), (4, 2)]


@st.composite
def boxings(draw):
    """Some (value, source, destination) on one mesh."""
    mesh, out = draw(st.sampled_from(MESHES)), []
    for _ in range(draw(st.integers(1, 5))):
        shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(["float32", "float64"]))
        src = draw(layouts(shape, dtype, mesh))
        summed = Layout.by_dim(shape, dtype, mesh, src.splits, (), src.sizes)  # the destination of a gradient
        one = [draw(sbps(len(shape), ("sum",))) for _ in mesh.axes]
        dst = draw(st.sampled_from([summed, summed, summed, src, Layout(shape, dtype, mesh, one)]))
        out.append(
            (
                np.random.default_rng(len(out)).normal(size=shape).astype(dtype),
                src,
                dst,
            )
        )
    return mesh, out


@settings(max_examples=60)
@given(boxings())
def test_many_at_once_are_each_alone(drawn):
    mesh, some = drawn
    rng = np.random.default_rng(9)
    parts = [dict(zip(mesh.ranks, addends(value, src, rng), strict=True)) for value, src, _ in some]

    def on_each_rank(comm):
        comm = Counting(comm)
        tensors = [
            global_tensor(flow.from_numpy(p[comm.rank]), src, comm) for p, (_, src, _) in zip(parts, some, strict=True)
        ]
        targets = [dst for _, _, dst in some]
        with explicit(), trace() as log:
            together = box_many(tensors, targets)
        sent, messages = comm.bytes_sent, comm.num_messages
        # A plan of one group of peers stands in the log of each of them.
        plans = sum(Fraction(plan.bytes_on_wire, plan.src.placement.size) for _, _, plan in log)
        alone = [t.to_global(layout=dst) for t, dst in zip(tensors, targets, strict=True)]
        for a, b, dst in zip(together, alone, targets, strict=True):
            assert a.layout == b.layout == dst
            assert a.spec is b.spec
            assert a.shard.numpy().tobytes() == b.shard.numpy().tobytes()
        return sent, comm.bytes_sent - sent, messages, comm.num_messages - messages, plans

    # Which rank sends what differs, for elements are shared out anew; the totals do not.
    sent, sent_alone, messages, messages_alone, plans = (
        sum(c) for c in zip(*spmd(mesh.size, on_each_rank), strict=True)
    )
    assert sent == sent_alone == plans
    assert messages <= messages_alone


def test_sums_along_the_same_axes_travel_in_one_message():
    mesh = Placement([0, 1], "x")

    def on_each_rank(comm):
        comm = Counting(comm)
        layout = Layout((8,), "f32", mesh, "P")
        tensors = [global_tensor(flow.ones(8), layout, comm) for _ in range(10)]
        out = box_many(tensors, [Layout((8,), "f32", mesh, "B")] * 10)
        np.testing.assert_array_equal([t.full().numpy() for t in out], np.full((10, 8), 2))
        return comm.num_messages

    assert spmd(2, on_each_rank) == [1, 1]


@pytest.mark.parametrize("one", ["B", "S(0)"])
def test_a_rank_outside_takes_part_with_handles(one):
    mesh = Placement([0, 1], "x")
    src, dst = Layout((8,), "f32", mesh, "P"), Layout((8,), "f32", mesh, one)

    def on_each_rank(comm):
        x = absent(src, comm=comm) if comm.rank == 2 else global_tensor(flow.ones(8), src, comm)
        (y,) = box_many([x], [dst])
        assert y.layout == dst
        assert (y.shard is None) == (comm.rank == 2)

    spmd(3, on_each_rank)
