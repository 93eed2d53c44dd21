"""The runtime, in one process and on ranks that are threads with zero-buffer sends."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flow_sbp
from flow_pipeline import Edge, PipelineError, Plan, Runtime, StallError, Task, plan_of, run, schedule
from flow_pipeline.testing import mixing_functions, plans, rendezvous, sequential

WEIGHTS = (2.0, 3.0, 5.0, 7.0)
SKIP = ((0, 3),)


def stage_functions(stage: int, num_stages: int, inputs, grads: list, *, skip: bool = False) -> dict:
    """Stage s multiplies by WEIGHTS[s]; with `skip`, stage 3 adds what stage 0 gave. The loss is the outputs' sum."""
    last, weight = stage == num_stages - 1, WEIGHTS[stage]

    def forward(mb, *values):
        x = inputs[mb] if stage == 0 else values[0]
        y = weight * (x + values[1] if skip and stage == 3 else x)
        saved = (x, values[1:])
        if skip and stage == 0:
            return (y, y, saved)
        return (y, saved)

    def backward(mb, saved, *gradients):
        x, skipped = saved
        g = np.ones_like(x) if last else gradients[0]
        if skip and stage == 0:
            g = g + gradients[1]
        total = x + skipped[0] if skipped else x
        grads.append(float((g * total).sum()))
        return (g * weight, g * weight) if skip and stage == 3 else g * weight

    return {f"F{stage}": forward, f"BW{stage}": backward, "out": lambda mb, y: float(y.sum())}


def split_functions(stage: int, num_stages: int, inputs, grads: list, *, skip: bool = False) -> dict:
    """The same with the gradient of the weight apart, in W."""
    functions = stage_functions(stage, num_stages, inputs, [], skip=skip)
    whole = functions.pop(f"BW{stage}")

    def backward(mb, saved, *gradients):
        given = whole(mb, saved, *gradients)
        x, skipped = saved
        held = (sum(skipped, x), sum(gradients[1:], gradients[0]) if gradients else np.ones_like(x))
        return (*(given if isinstance(given, tuple) else (given,)), held) if stage else held

    def weight(mb, held):
        grads.append(float((held[0] * held[1]).sum()))

    return functions | {f"B{stage}": backward, f"W{stage}": weight}


def expected(inputs, num_stages: int, *, skip: bool = False):
    """Outputs by microbatch and the gradient of each weight, in the plainest way."""
    w = np.array(WEIGHTS[:num_stages])
    outs = [float(x.sum() * (w.prod() + (w[0] * w[3] if skip else 0))) for x in inputs]
    chain = [sum(x.sum() for x in inputs) * w.prod() / w[s] for s in range(num_stages)]
    if skip:
        chain[0] += sum(x.sum() for x in inputs) * w[3]
        chain[3] += sum(x.sum() for x in inputs) * w[0]
    return outs, chain


@pytest.mark.parametrize(
    ("name", "make"), [("gpipe", stage_functions), ("1f1b", stage_functions), ("zb_h1", split_functions)]
)
def test_skip_0_to_3(name, make):
    """Case G1: a skip over two stages, forward and back, also with zero-buffer sends."""
    inputs = [np.arange(6.0).reshape(2, 3) + mb for mb in range(6)]
    plan = plan_of(schedule(name, 4, 6, skips=SKIP))
    outs, weights = expected(inputs, 4, skip=True)

    def program(comm):
        grads: list = []
        functions = make(comm.rank, 4, inputs, grads, skip=True)
        return run(plan, functions, comm, keep=["out"], timeout=10).get("out"), sum(grads)

    ranks = rendezvous(4, program)
    assert ranks[3][0] == outs
    assert [grad for _, grad in ranks] == weights


def test_varlen_steps_and_varlen_microbatches():
    """Case G3: each microbatch of each step has another shape; one runtime serves them all."""
    plan = plan_of(schedule("1f1b", 3, 4))

    def program(comm):
        inputs: list = []
        grads: list = []
        results = []
        with Runtime(plan, stage_functions(comm.rank, 3, inputs, grads), comm, timeout=10) as runtime:
            for step in range(3):
                inputs[:] = batch(step)
                grads.clear()
                results.append((runtime.run(keep=["out"]).get("out"), sum(grads)))
        return results

    def batch(step):
        return [np.ones((mb % 3, step + 1)) * (mb + step) for mb in range(4)]  # (0..2, 1..3), one of them empty

    ranks = rendezvous(3, program)
    for step in range(3):
        outs, weights = expected(batch(step), 3)
        assert ranks[2][step][0] == outs
        assert [rank[step][1] for rank in ranks] == weights


def test_peak_mem_vs_mb():
    """Case G9: what a run holds does not grow with the microbatches, unless all outputs are asked for."""

    def peak(num_microbatches: int, keep: tuple = ()) -> int:
        plan = plan_of(schedule("1f1b", 3, num_microbatches))

        def backward(mb, *inputs):
            return np.full(20_000, float(mb))

        def forward(mb, *inputs):
            return backward(mb), mb

        functions = {"F0": forward, "F1": forward, "F2": forward, "BW2": backward, "BW1": backward}
        functions |= {"BW0": lambda mb, saved, g: None, "out": lambda mb, y: y}
        tracemalloc.start()
        result = run(plan, functions, keep=keep)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(result["out"]) == (num_microbatches if keep else 20_000)
        return peak

    array = 20_000 * 8
    assert peak(64) < peak(8) + 2 * array
    assert peak(64, ("out",)) > 60 * array


@settings(max_examples=25)
@given(plans(max_ranks=4), st.integers(1, 2))
def test_any_plan_on_ranks_gives_the_sequential_results(plan, runs):
    functions = mixing_functions(plan)
    sinks = [task.name for task in plan.tasks if not plan.outputs[task.name]]

    def program(comm):
        with Runtime(plan, functions, comm, timeout=10) as runtime:
            return [runtime.run(keep=sinks) for _ in range(runs)]

    results = rendezvous(4, program)
    assert not [r for r in results if isinstance(r, Exception)]
    for number in range(runs):
        merged = {name: values for rank in results for name, values in rank[number].items()}
        assert merged == sequential(plan, functions)
    assert run(plan, functions, keep=sinks) == sequential(plan, functions)
    assert flow_sbp.spmd(4, program) == results


def test_a_sum_over_microbatches_feeds_a_step_once():
    """A step is an actor like any other: it reads what `B` fills at its last microbatch only."""
    tasks = (Task("B", 0, 4), Task("step", 1, 1), Task("log", 0, 1))
    plan = Plan(tasks, (Edge("sum", "B", ("step",), every=4), Edge("norm", "step", ("log",))))
    total: list = []

    def backward(mb, x):
        total.append(x)
        return np.float64(sum(total))

    functions = {"B": backward, "step": lambda n, g: float(g) * 10, "log": lambda n, norm: norm}
    results = rendezvous(2, lambda comm: run(plan, functions, comm, inputs={"B": [1, 2, 3, 4]}, timeout=10))
    assert results == [{"log": 100.0}, {}]


def test_arrays_of_any_dtype_and_size_travel_as_they_are():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    plan = Plan((Task("a", 0, 2), Task("b", 1, 2)), (Edge("e", "a", ("b",), 2),))
    values = [
        {
            "bf16": np.arange(8, dtype=ml_dtypes.bfloat16).reshape(2, 4).T,
            "none": None,
            "many": [np.zeros(k) for k in range(40)],
        },
        (np.arange(1 << 21, dtype=np.float32), "text " * 1000),
    ]
    a, b = rendezvous(
        2, lambda comm: run(plan, {"a": lambda n: values[n], "b": lambda n, x: x}, comm, keep=["b"], timeout=10)
    )
    assert a == {}
    first, second = b["b"]
    assert first["bf16"].dtype == ml_dtypes.bfloat16
    assert (first["bf16"] == values[0]["bf16"]).all()
    assert [len(x) for x in first["many"]] == list(range(40))
    assert (second[0] == values[1][0]).all()
    assert second[1] == values[1][1]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failing_act_ends_every_rank_with_its_name(failing):
    plan = plan_of(schedule("1f1b", 3, 4))

    def program(comm):
        functions = stage_functions(comm.rank, 3, [np.ones(2)] * 4, [])
        if comm.rank == failing:
            functions[f"BW{failing}"] = lambda mb, *inputs: 1 // 0
        runtime = Runtime(plan, functions, comm, timeout=10)
        with pytest.raises(PipelineError) as first:
            runtime.run()
        with pytest.raises(PipelineError, match="this runtime has ended: task"):
            runtime.run()
        runtime.close()
        return str(first.value)

    start = time.monotonic()
    text = f"task 'BW{failing}', firing 0, on rank {failing}: ZeroDivisionError: integer division or modulo by zero"
    assert rendezvous(3, program) == [text] * 3
    assert time.monotonic() - start < 5


def test_a_rank_that_leaves_by_an_error_of_its_own_ends_the_others():
    plan = plan_of(schedule("gpipe", 2, 2))

    def program(comm):
        with Runtime(plan, stage_functions(comm.rank, 2, [np.ones(2)] * 2, []), comm, timeout=10) as runtime:
            if comm.rank == 1:
                raise OSError("no more disk")
            runtime.run()

    first, second = rendezvous(2, program)
    assert isinstance(second, OSError)
    assert isinstance(first, PipelineError)
    assert str(first) == "rank 1 left: OSError: no more disk"


def test_a_rank_that_waits_for_ever_says_where_it_stands():
    plan = plan_of(schedule("1f1b", 3, 4))

    def program(comm):
        if comm.rank != 1:
            run(plan, stage_functions(comm.rank, 3, [np.ones(2)] * 4, []), comm, timeout=0.2)

    first, absent, last = rendezvous(3, program)
    assert absent is None
    assert isinstance(first, PipelineError)
    assert isinstance(last, PipelineError)
    error = first if isinstance(first, StallError) else last
    rank, waits = (0, "a register of 'g1' from BW1") if error is first else (2, "a register of 'x1' from F1")
    assert f"rank {rank} made no progress for 0.2 s" in str(error)
    assert f"waits for {waits} (rank 1)" in str(error)


def test_what_a_caller_gets_wrong_is_said_before_anything_runs():
    plan = plan_of(schedule("1f1b", 2, 2))
    functions = stage_functions(0, 2, [], []) | stage_functions(1, 2, [], [])
    with pytest.raises(ValueError, match="no function is given for F1, BW1"):
        Runtime(plan, stage_functions(0, 2, [], []))
    (error,) = rendezvous(1, lambda comm: Runtime(plan, functions, comm))
    assert str(error) == "the plan has tasks on rank 1, the communicator has 1 ranks"
    runtime = Runtime(plan, functions)
    with pytest.raises(ValueError, match="F0 fires 2 times, got 3 inputs"):
        runtime.run({"F0": [1, 2, 3]})
    with pytest.raises(ValueError, match="there is no 'loss'"):
        runtime.run(keep=["loss"])
    with pytest.raises(ValueError, match="keep names tasks that fill no edge; F1 fills out, saved1"):
        runtime.run(keep=["F1"])
    with pytest.raises(PipelineError, match=r"'F0'.*TypeError: F0 returns a tuple .* each of x0, saved0, got a int"):
        run(plan, functions | {"F0": lambda mb: 1})
