"""One plan runs alike everywhere; what cannot run fails on every rank alike, before any data; nothing hangs."""

import numpy as np
import pytest

from flow_sbp import Counting, Layout, Placement, execute, plan, shard, simulate, spmd
from flow_sbp.comm import agree
from flow_sbp.sim import Aborted

MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))
OTHER = Placement([3, 5, 1], "x")


def layout(sbp, placement=MESH, shape=(70, 40), dtype="f32"):
    return Layout(shape, dtype, placement, sbp)


PAIRS = [
    (layout("P, S(0)"), layout("S(1), B")),
    (layout("S(0), S(1)"), layout("S(1), S(0)")),
    (layout("P, P"), layout("B, B")),
    (layout("S(0), B"), layout("S(0)", OTHER)),
    (layout("P", OTHER), layout("B, P")),
    (layout("B", Placement([5], "x")), layout("B, B")),
    (layout("P(max), B"), layout("S(0), S(0)")),
    (layout("S(0), P", shape=(3, 0)), layout("B, B", shape=(3, 0))),
    (layout("P, P", dtype="bf16"), layout("S(0), B", dtype="bf16")),
]


@pytest.mark.parametrize(("src", "dst"), PAIRS, ids=str)
def test_execute_is_simulate_rank_by_rank_and_sends_what_the_plan_says(src, dst):
    this = plan(src, dst)
    value = np.random.default_rng(0).integers(0, 99, src.shape)
    shards = shard(value.astype("u2" if src.dtype == "bf16" else "f4"), src)
    held = dict(zip(src.placement.ranks, shards, strict=True))
    expected = dict(zip(dst.placement.ranks, simulate(this, shards), strict=True))

    def run(comm):
        comm = Counting(comm)
        return execute(this, held.get(comm.rank), comm), comm.bytes_sent

    results = spmd(7, run)
    for rank, (piece, _) in enumerate(results):
        np.testing.assert_array_equal(piece, expected.get(rank))
    assert sum(sent for _, sent in results) == this.bytes_on_wire


def test_a_shard_that_does_not_fit_is_the_same_error_on_every_rank():
    this = plan(*PAIRS[1])
    shards = shard(np.zeros((70, 40), "f4"), this.src)
    errors, sent = {}, {}

    def run(comm):
        comm = Counting(comm)
        piece = shards[comm.rank] if comm.rank != 2 else shards[2][:5]
        try:
            execute(this, piece, comm)
        except ValueError as error:
            errors[comm.rank], sent[comm.rank] = str(error), comm.bytes_sent

    spmd(4, run)
    assert set(errors) == {0, 1, 2, 3}
    assert len(set(errors.values())) == 1
    assert "rank 2 holds a shard of shape (35, 20), got (5, 20)" in errors[0]
    assert set(sent.values()) == {0}


@pytest.mark.parametrize(
    ("piece", "says"), [(None, "no shard was given"), (np.zeros((35, 20)), "expected an array of f32")]
)
def test_a_missing_or_a_wrong_dtype_is_such_an_error_too(piece, says):
    this = plan(*PAIRS[1])
    shards = shard(np.zeros((70, 40), "f4"), this.src)
    with pytest.raises(ValueError, match=says):
        spmd(4, lambda comm: execute(this, piece if comm.rank == 1 else shards[comm.rank], comm))


def test_without_the_check_a_wrong_shard_aborts_the_others():
    this = plan(*PAIRS[1])
    shards = shard(np.zeros((70, 40), "f4"), this.src)
    with pytest.raises(Aborted, match=r"rank 3: .*no shard was given"):
        spmd(4, lambda comm: execute(this, None if comm.rank == 3 else shards[comm.rank], comm, check=False))


def test_a_world_that_is_too_small_is_refused_on_every_rank():
    def run(comm):
        with pytest.raises(ValueError, match="ranks up to 3, but the communicator has 2 ranks"):
            execute(plan(*PAIRS[0]), None, comm)

    spmd(2, run)


def test_ranks_outside_the_plan_pass_by():
    this = plan(layout("S(0)", OTHER), layout("B", OTHER))
    held = dict(zip(OTHER.ranks, shard(np.ones((70, 40), "f4"), this.src), strict=True))
    results = spmd(6, lambda comm: execute(this, held.get(comm.rank), comm))
    assert [piece is None for piece in results] == [True, False, True, False, True, False]


def test_simulate_refuses_what_does_not_fit():
    this = plan(*PAIRS[0])
    with pytest.raises(ValueError, match="4 ranks, got 1 shards"):
        simulate(this, [np.zeros((70, 40), "f4")])
    with pytest.raises(ValueError, match="rank 0 holds a shard of shape"):
        simulate(this, [np.zeros((3, 3), "f4")] * 4)


def test_the_source_is_not_changed_nor_shared():
    for src, dst in PAIRS:
        value = np.random.default_rng(0).integers(0, 99, src.shape).astype("u2" if src.dtype == "bf16" else "f4")
        shards = shard(value, src)
        before = [piece.copy() for piece in shards]
        after = simulate(plan(src, dst), shards)
        for piece in after:
            piece[...] = 7
        for piece, kept in zip(shards, before, strict=True):
            np.testing.assert_array_equal(piece, kept)


def test_ranks_agree_on_the_first_problem():
    def run(comm):
        if comm.rank:
            with pytest.raises(ValueError, match="rank 1: too late"):
                agree(comm, (1, 2, 3), f"{'too late' if comm.rank == 1 else 'broken'}")

    spmd(4, run)
    spmd(4, lambda comm: agree(comm, (0, 1, 2, 3), None))


def test_the_watchdog_says_where_a_stuck_rank_stands():
    def wait_for_nobody(comm):
        if comm.rank == 1:
            comm.irecv(np.zeros(3), 0, 7).wait()

    with pytest.raises(
        TimeoutError, match=r"rank 1 at test_execute.py:\d+ in wait_for_nobody, .* 24 bytes from rank 0, tag 7"
    ):
        spmd(2, wait_for_nobody, timeout=0.3)


def test_a_failing_rank_ends_those_who_wait_for_it():
    def fail(comm):
        if comm.rank == 1:
            raise KeyError("mine")
        comm.barrier()

    with pytest.raises(KeyError, match="mine") as caught:
        spmd(3, fail)
    assert caught.value.__notes__ == ["on rank 1 of 3"]


def test_a_barrier_waits_for_all():
    seen = []

    def run(comm):
        seen.append(comm.rank)
        comm.barrier()
        assert len(seen) == 5
        comm.barrier()
        return comm.rank

    assert spmd(5, run) == [0, 1, 2, 3, 4]


def test_a_rank_outside_the_world_is_refused():
    def run(comm):
        with pytest.raises(ValueError, match="rank 2 is not in this world of 2"):
            comm.isend(np.zeros(1), 2, 0)

    spmd(2, run)


def test_what_is_no_plan_and_no_number_of_ranks_is_refused():
    with pytest.raises(TypeError, match=r"expected a Plan.*got None"):
        simulate(None, [])
    with pytest.raises(TypeError, match=r"expected a Plan.*got None"):
        spmd(1, lambda comm: execute(None, None, comm))
    for num_ranks in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="num_ranks is a number of 1 or more, got"):
            spmd(num_ranks, lambda comm: comm.rank)
