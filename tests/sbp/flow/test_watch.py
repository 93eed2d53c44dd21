"""What moves can be seen and forbidden; ranks outside a placement hold handles and send nothing."""

import threading

import numpy as np
import pytest

import flow_core as flow
from flow_autograd import no_grad
from flow_core import Generator
from flow_sbp import Counting, Layout, Placement, spmd
from flow_sbp.global_tensor import GlobalTensor, absent, distribute, explicit, set_comm, trace
from flow_sbp.global_tensor.dispatch import decisions

MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))
VALUE = np.arange(35.0).reshape(7, 5)


def on_ranks(fn, num_ranks=4):
    """[(result, bytes sent) of each rank], with a counting communicator set."""

    def run(comm):
        comm = Counting(comm)
        set_comm(comm)
        return fn(comm), comm.bytes_sent

    return spmd(num_ranks, run)


def program(x, w, b):
    h = flow.gelu(flow.linear(x, w, b))
    return (flow.softmax(h, dim=-1) * h).mean()


def test_explicit_refuses_what_would_move_and_names_the_call_to_add():
    def run(comm):
        x, y = distribute(VALUE, MESH, "S(0), P"), distribute(VALUE, MESH, "S(0), B")
        with explicit():
            assert (y * y + y).layout == y.layout
            with pytest.raises(ValueError, match="exp: argument 0 must move") as caught:
                flow.exp(x)
            whole = x.to_global(sbp="S(0), B")
            np.testing.assert_allclose(flow.exp(whole).full().numpy(), np.exp(VALUE))
        flow.exp(x)
        return str(caught.value)

    results = on_ranks(run)
    assert len({text for text, _ in results}) == 1
    text = results[0][0]
    assert "from f64[7@dp, 5] P(sum)@tp to " in text
    assert " bytes); inside explicit() say so: x.to_global(sbp=['S(0)', " in text
    call = text.split("x.to_global(sbp=")[1].removesuffix(")")

    def run_as_told(comm):
        x = distribute(VALUE, MESH, "S(0), P")
        with explicit():
            return flow.exp(x.to_global(sbp=eval(call))).full().numpy()

    for got, _ in on_ranks(run_as_told):
        np.testing.assert_allclose(got, np.exp(VALUE))


def test_explicit_refuses_before_anything_is_sent():
    def run(comm):
        left, right = distribute(VALUE, MESH, "P, S(1)"), distribute(VALUE.T.copy(), MESH, "P, S(1)")
        with explicit(), pytest.raises(ValueError, match="must move"):
            left @ right

    assert [sent for _, sent in on_ranks(run)] == [0] * 4


def test_explicit_ends_with_its_block_and_is_each_thread_s_own():
    def run(comm):
        x = distribute(VALUE, MESH, "P, B")
        entered, done = threading.Event(), threading.Event()

        def other():
            with explicit():
                entered.set()
                done.wait(20)

        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(20)
        with pytest.raises(KeyError), explicit():
            raise KeyError
        value = flow.exp(x).full().numpy()
        done.set()
        thread.join()
        return value

    for got, _ in on_ranks(run):
        np.testing.assert_allclose(got, np.exp(VALUE))


@pytest.mark.parametrize("one", ["S(0), B", "S(1), S(0)", "P, S(1)", "B, P"])
def test_trace_lists_each_plan_with_the_bytes_that_are_sent(one):
    def run(comm):
        x = distribute(VALUE, MESH, one).requires_grad_()
        w = distribute(VALUE[:3], MESH, "B, S(0)").requires_grad_()
        b = distribute(VALUE[0, :3], MESH, "B, S(0)").requires_grad_()
        with trace() as outer:
            flow.exp(x.detach())
            before = comm.bytes_sent
            with trace() as log:
                program(x, w, b).backward()
                x.grad.full()
            sent = comm.bytes_sent - before
        assert outer[len(outer) - len(log) :] == log
        assert all(name == "exp" for name, _, _ in outer[: -len(log)])
        assert log[-1][0] == "full" or not x.grad.layout.splits
        return [(name, place, str(plan.src), str(plan.dst), plan.bytes_on_wire) for name, place, plan in log], sent

    results = [result for result, _ in on_ranks(run)]
    assert all(log == results[0][0] for log, _ in results)
    assert sum(sent for _, sent in results) == sum(planned for *_, planned in results[0][0])
    assert "linear" in {name for name, *_ in results[0][0]} or one == "S(0), B"


def test_a_second_call_makes_no_new_decision_and_moves_the_same():
    def run(comm):
        x, w = distribute(VALUE, MESH, "S(0), B"), distribute(VALUE[:3], MESH, "B, S(0)")
        logs = []
        for _ in range(2):
            with trace() as log:
                flow.softmax(flow.linear(x, w), dim=-1)
            logs.append([plan for _, _, plan in log])
            comm.barrier()
            logs.append(len(decisions))
            comm.barrier()
        assert logs[0] == logs[2]
        return logs[1] == logs[3]

    assert all(same for same, _ in on_ranks(run))


def test_ranks_outside_hold_handles_and_send_nothing():
    inside = Placement([0, 2], "x")

    def run(comm):
        here = comm.rank in inside
        x, w, b = (distribute(v, inside, "S(0)").requires_grad_() for v in (VALUE, VALUE[:3], VALUE[0, :3]))
        assert (x.shard is None) == (not here)
        loss = program(x, w, b)
        loss.backward()
        with no_grad():
            w.mul_(2)
            w.copy_(distribute(VALUE[:3], inside, "B"))
            flow.adamw_(x, flow.zeros_like(x), flow.zeros_like(x), x.grad, 0.1, 1, 1.0)
            _, parts = flow.layer_norm(x)[0], flow.split(x, 2, dim=1)
            dropped = flow.dropout(x, 0.5, generator=Generator(1))
        for t in (loss, x.grad, w.grad, b.grad, *parts, dropped, x[1:, 0], x.amax(dim=0)):
            assert type(t) is GlobalTensor
            assert (t.shard is None) == (not here)
        if not here:
            assert loss.full() is None
            assert absent(x.layout).layout == x.layout
        return None if x.full() is None else x.full().numpy()

    results = on_ranks(run)
    assert [sent == 0 for _, sent in results] == [False, True, False, True]
    np.testing.assert_array_equal(results[0][0], results[2][0])


def test_an_op_on_two_placements_is_refused_alike_on_all_ranks():
    def run(comm):
        x = distribute(VALUE, Placement([0, 1], "x"), "B")
        y = distribute(VALUE, Placement([2, 3], "x"), "B")
        texts = []
        for call in (lambda: x + y, lambda: x.copy_(y), lambda: flow.cat([x, y])):
            with pytest.raises(ValueError, match="runs on one placement, its inputs lie on 2") as caught:
                call()
            texts.append(str(caught.value))
        return tuple(texts)

    results = on_ranks(run)
    assert len(set(results)) == 1
    assert results[0][1] == 0


def test_the_op_s_own_errors_are_those_of_the_logical_shapes():
    def run(comm):
        x = distribute(VALUE, MESH, "S(0), S(1)")
        texts = []
        for call in (
            lambda: x @ x,
            lambda: x.reshape(7, 6),
            lambda: x.sum(dim=2),
            lambda: flow.matmul(x, 2),
            lambda: x[9],
        ):
            with pytest.raises((ValueError, TypeError, IndexError)) as caught:
                call()
            texts.append(str(caught.value))
        return tuple(texts)

    results = on_ranks(run)
    assert len({texts for texts, _ in results}) == 1
    whole, texts = flow.tensor(VALUE), results[0][0]
    for call, text in zip(
        (lambda: whole @ whole, lambda: whole.reshape(7, 6), lambda: whole.sum(dim=2)), texts, strict=False
    ):
        with pytest.raises(ValueError, match=r"do not fit|has 35 elements|out of range") as caught:
            call()
        assert str(caught.value) == text
    assert "expected a tensor" in texts[3]
    assert [sent for _, sent in results] == [0] * 4


@pytest.mark.parametrize("layout", ["S(0), B", "P, B"])
def test_a_number_s_sign_is_its_own_though_zeros_are_equal(layout):
    def run(comm):
        x = distribute(VALUE, MESH, layout)
        return [np.signbit(flow.full_like(x, v).full().numpy()).any() for v in (0.0, -0.0, 0.0)]

    assert [signs for signs, _ in on_ranks(run)] == [[False, True, False]] * 4


def test_layouts_print_and_say_what_a_rank_holds():
    def run(comm):
        return repr(distribute(VALUE, MESH, "S(0), P"))

    texts = [text for text, _ in on_ranks(run)]
    assert texts[3].startswith("global(f64[7@dp, 5] P(sum)@tp on Placement(")
    assert "rank 3 holds tensor(" in texts[3]
    assert Layout.parse("f64[7@dp, 5] P(sum)@tp", MESH) == Layout((7, 5), "f64", MESH, "S(0), P")
