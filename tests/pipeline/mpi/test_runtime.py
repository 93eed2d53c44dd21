"""The runtime over MPI, on as many ranks as there are."""

import time

import numpy as np
import pytest

from flow_pipeline import PipelineError, Runtime, StallError, plan_of, run, schedule
from flow_sbp.mpi import MpiComm

TIMEOUT = 30


@pytest.fixture(scope="module")
def comm():
    comm = MpiComm()
    if comm.size < 2:
        pytest.skip("needs 2 ranks or more")
    return comm


def affine(stage: int, num_stages: int, batch: list, grads: list, *, skip: bool = False) -> dict:
    """Stage s: y = (s + 2) x; with `skip`, the last one adds what stage 0 gave. The loss is the sum of the outputs."""
    last, weight = stage == num_stages - 1, stage + 2.0

    def forward(mb, *values):
        x = sum(values[1:], values[0]) if stage else batch[mb]
        y = weight * x
        return (y, y, x) if skip and not stage else (y, x)

    def backward(mb, x, *gradients):
        g = np.ones_like(x) if last else sum(gradients[1:], gradients[0])
        grads.append(float((g * x).sum()))
        return (weight * g,) * 2 if skip and last else weight * g

    return {f"F{stage}": forward, f"BW{stage}": backward, "out": lambda mb, y: float(y.sum())}


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_varlen_steps_of_one_runtime_equal_the_dense_run(comm, name):
    p, m = comm.size, 5
    plan = plan_of(schedule(name, p, m))
    weights = np.arange(p) + 2.0
    batch: list = []
    grads: list = []
    with Runtime(plan, affine(comm.rank, p, batch, grads), comm, timeout=TIMEOUT) as runtime:
        for step in range(4):
            batch[:] = [np.full((mb + step, 3), float(mb)) for mb in range(m)]
            grads.clear()
            results = runtime.run(keep=["out"])
            total = sum(float(x.sum()) for x in batch)
            assert sum(grads) == total * weights.prod() / weights[comm.rank]
            if comm.rank == p - 1:
                assert results["out"] == [float(x.sum()) * weights.prod() for x in batch]


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_skip_from_first_to_last(comm, name):
    """Case G1, skip_0_to_3 on 4 ranks; messages of 1 MiB, which MPI does not buffer."""
    p, m = comm.size, 6
    if p == 2:
        pytest.skip("with 2 stages a skip is the chain itself")
    plan = plan_of(schedule(name, p, m, skips=((0, p - 1),)))
    batch = [np.full(1 << 17, float(mb)) for mb in range(m)]
    grads: list = []
    run(plan, affine(comm.rank, p, batch, grads, skip=True), comm, timeout=TIMEOUT)
    w = np.arange(p) + 2.0
    total = sum(float(x.sum()) for x in batch)
    mine = total * w.prod() / w[comm.rank]
    if comm.rank in (0, p - 1):
        mine += total * w[0] * w[-1] / w[comm.rank]
    assert sum(grads) == mine


def test_two_pipelines_side_by_side_on_ranks_of_the_callers_choice(comm):
    """As in dp x pp: stage 0 on the upper of a pair of ranks, every pair a pipeline of its own."""
    if comm.rank >= comm.size // 2 * 2:
        return
    low = comm.rank // 2 * 2
    plan = plan_of(schedule("1f1b", 2, 3), [low + 1, low])
    stage = 1 - comm.rank % 2
    grads: list = []
    run(plan, affine(stage, 2, [np.ones(4) * (low + 1)] * 3, grads), comm, timeout=TIMEOUT)
    assert sum(grads) == 3 * 4 * (low + 1) * [3.0, 2.0][stage]


def test_bf16_arrays_travel_as_they_are(comm):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    plan = plan_of(schedule("gpipe", 2, 2, forward_only=True))
    values = [np.arange(1 << 20).astype(ml_dtypes.bfloat16).reshape(-1, 4).T, [np.array(1, ml_dtypes.bfloat16), None]]
    functions = {"F0": lambda mb: values[mb], "F1": lambda mb, x: x, "out": lambda mb, x: x}
    results = run(plan, functions, comm, keep=["out"], timeout=TIMEOUT)
    if comm.rank == 1:
        first, second = results["out"]
        assert first.dtype == values[0].dtype
        assert (first == values[0]).all()
        assert second == [1, None]


def test_a_failing_act_ends_the_run_on_every_rank_with_its_name(comm):
    p = comm.size
    functions = affine(comm.rank, p, [np.ones(3)] * 4, [])
    if comm.rank == p - 1:
        functions[f"F{p - 1}"] = lambda mb, x: 1 // (mb - 2)
    start = time.monotonic()
    with pytest.raises(
        PipelineError, match=rf"task 'F{p - 1}', firing 0, on rank {p - 1}: TypeError: F{p - 1} returns"
    ):
        run(plan_of(schedule("1f1b", p, 4)), functions, comm, timeout=TIMEOUT, tag=20_000)
    assert time.monotonic() - start < 10
    comm.barrier()


def test_a_rank_that_waits_for_ever_says_where_it_stands(comm):
    """Rank 0 does not take part; whoever runs out of patience first tells the others."""
    if comm.rank:
        functions = affine(comm.rank, comm.size, [], [])
        plan = plan_of(schedule("1f1b", comm.size, 4))
        with pytest.raises(PipelineError, match=r"made no progress for 0.3 s:\n.*waits for a register of") as error:
            run(plan, functions, comm, timeout=0.3, tag=24_000)
        assert isinstance(error.value, StallError) or comm.size > 2
    comm.barrier()
