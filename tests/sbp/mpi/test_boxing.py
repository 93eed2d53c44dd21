"""Fixed redistributions over MPI, for 2, 3 and 4 ranks: `mpiexec -n 3 python -m mpi4py -m pytest tests/sbp/mpi`."""

from itertools import product

import numpy as np
import pytest
from mpi4py import MPI

from flow_sbp import Counting, Layout, Placement, agree, execute, plan, shard, simulate
from flow_sbp.mpi import MpiComm
from flow_sbp.validate import addends

COMM = MpiComm()
SIZE = COMM.size


def check(src, dst):
    """What each rank gets is what the simulated world gives it, bit for bit, and all ranks send what the plan says."""
    this, rng = plan(src, dst), np.random.default_rng(1)
    if src.dtype == "bf16":
        shards = shard((rng.normal(size=src.shape).astype("f4").view("u4") >> 16).astype("u2"), src)
    else:
        shards = addends(rng.integers(-9, 9, src.shape).astype("f4"), src, rng)
    held = dict(zip(src.placement.ranks, shards, strict=True))
    expected = dict(zip(dst.placement.ranks, simulate(this, shards), strict=True)).get(COMM.rank)
    counted = Counting(COMM)
    piece = execute(this, held.get(COMM.rank), counted)
    assert (piece is None) == (expected is None)
    assert piece is None or (piece.tobytes() == expected.tobytes() and piece.shape == expected.shape)
    assert COMM.mpi.allreduce(counted.bytes_sent) == this.bytes_on_wire


@pytest.mark.parametrize("shape", [(64, 48), (5, 7), (1, 3), (0, 4)])
def test_every_transition_of_one_axis(shape):
    placement = Placement(range(SIZE), "x")
    for here, there in product(("B", "S(0)", "S(1)", "P"), repeat=2):
        check(Layout(shape, "f32", placement, here), Layout(shape, "f32", placement, there))


@pytest.mark.skipif(SIZE < 4, reason="a mesh of 2 x 2 needs 4 ranks")
@pytest.mark.parametrize("shape", [(64, 48), (5, 7)])
def test_every_transition_of_two_axes(shape):
    placement = Placement([[2, 0], [1, 3]], ("dp", "tp"))
    for here in product(("B", "S(0)", "S(1)", "P"), repeat=2):
        for there in product(("B", "S(0)", "S(1)"), repeat=2):
            check(Layout(shape, "f32", placement, here), Layout(shape, "f32", placement, there))


def test_bf16_travels_as_words():
    placement = Placement(range(SIZE), "x")
    for here, there in product(("B", "S(0)", "P"), repeat=2):
        check(Layout((300, 7), "bf16", placement, here), Layout((300, 7), "bf16", placement, there))


def test_d6_mesh_a_to_mesh_b():
    everyone, last, reverse = (Placement(ranks, "x") for ranks in (range(SIZE), [SIZE - 1], range(SIZE)[::-1]))
    for a, b in product((everyone, last, reverse, Placement([0], "x")), repeat=2):
        for here, there in product(("B", "S(0)", "P"), repeat=2):
            check(Layout((9, 5), "f32", a, here), Layout((9, 5), "f32", b, there))


@pytest.mark.skipif(SIZE < 4, reason="a mesh of 2 x 2 needs 4 ranks")
def test_a7_d7_two_axes_one_dim_5():
    mesh = Placement([[0, 1], [2, 3]], ("dp", "tp"))
    orders = [Layout((5,), "f32", mesh, "S(0), S(0)", order={0: order}) for order in (("dp", "tp"), ("tp", "dp"))]
    for src, dst in product(orders, repeat=2):
        check(src, dst)


def test_a1_a9_a11_ragged_and_empty_shards():
    placement = Placement(range(SIZE), "x")
    ragged = Layout((7, 2), "f32", placement, "S(0)", sizes={0: (0, 7, *[0] * (SIZE - 2))})
    for sbp in ("B", "S(0)", "S(1)", "P"):
        check(ragged, Layout((7, 2), "f32", placement, sbp))
        check(Layout((7, 2), "f32", placement, sbp), ragged)
    check(Layout((1,), "f32", placement, "S(0)"), Layout((1,), "f32", placement, "B"))


def test_a_large_message_travels_in_parts(monkeypatch):
    monkeypatch.setattr("flow_sbp.mpi.PART_BYTES", 1000)
    placement = Placement(range(SIZE), "x")
    check(Layout((64, 48), "f32", placement, "S(0)"), Layout((64, 48), "f32", placement, "B"))
    check(Layout((64, 48), "f32", placement, "P"), Layout((64, 48), "f32", placement, "S(1)"))


def test_a_shard_that_does_not_fit_is_the_same_error_on_every_rank():
    placement = Placement(range(SIZE), "x")
    this = plan(Layout((8, 4), "f32", placement, "S(0)"), Layout((8, 4), "f32", placement, "B"))
    piece = np.zeros(this.src.local_shape(COMM.rank) if COMM.rank != 1 else (9, 4), "f4")
    counted = Counting(COMM)
    with pytest.raises(ValueError, match=r"rank 1 holds a shard of shape .* got \(9, 4\)") as caught:
        execute(this, piece, counted)
    assert len(set(COMM.mpi.allgather(str(caught.value)))) == 1
    assert counted.bytes_sent == 0


def test_a_world_that_is_too_small_is_refused_on_every_rank():
    placement = Placement(range(SIZE + 1), "x")
    this = plan(Layout((8, 4), "f32", placement, "S(0)"), Layout((8, 4), "f32", placement, "B"))
    with pytest.raises(ValueError, match=f"uses ranks up to {SIZE}, but the communicator has {SIZE} ranks"):
        execute(this, None, COMM)


def test_ranks_agree_and_meet():
    agree(COMM, tuple(range(SIZE)), None)
    COMM.barrier()
    assert COMM.mpi.allreduce(1) == MPI.COMM_WORLD.size
