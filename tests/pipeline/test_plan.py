"""Plans, credits and the clock: what is proven is what runs."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from flow_pipeline import Costs, Edge, Plan, Schedule, Task, credits, plan_of, play, schedule, schedule_of, simulate
from flow_pipeline.testing import interleave, mixing_functions, ordered_plans, plans, sequential

SIZES = [(p, m) for p in (1, 2, 3, 5) for m in (1, 2, 4, 7)]


@given(plans())
def test_a_plan_without_imposed_order_verifies_for_any_credits(plan):
    assert sorted(plan.verify()) == sorted((task.name, n) for task in plan.tasks for n in range(task.firings))


@settings(max_examples=300)
@given(ordered_plans(), st.data())
def test_verify_accepts_exactly_what_runs(plan, data):
    functions = mixing_functions(plan)
    results, through = interleave(plan, functions, lambda n: data.draw(st.integers(0, n - 1)))
    event(f"runs through: {through}")
    if through:
        assert results == sequential(plan, functions)
    else:
        with pytest.raises(ValueError, match="deadlock, each firing waits for the one before: "):
            plan.verify()


@pytest.mark.parametrize(("p", "m"), SIZES)
@pytest.mark.parametrize("name", ["gpipe", "1f1b", "zb_h1"])
@pytest.mark.parametrize("hop", [0, 0.25])
def test_actors_take_as_long_as_the_simulated_schedule(name, p, m, hop):
    """The credits of a schedule slow nothing down, and the simulator and the actors agree on the time."""
    table = schedule(name, p, m)
    times = {"F": 1.0, "B": 1.0, "W": 1.5, "BW": 2.5, "out": 0.0}
    spans = play(plan_of(table), lambda task: times[task.rstrip("0123456789")], hop=hop)
    assert (
        max(firing.end for rank in spans.values() for firing in rank) == simulate(table, Costs(1, 1, 1.5, hop)).makespan
    )


@pytest.mark.parametrize(("p", "m"), SIZES)
@pytest.mark.parametrize("backward", [0.5, 1, 2, 3])
def test_1f1b_falls_out_of_stages_minus_stage_credits(p, m, backward):
    assert schedule_of([p - s for s in range(p)], m, backward=backward).devices == schedule("1f1b", p, m).devices


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 6), st.sampled_from([0.5, 1.0, 2.0]))
def test_a_schedule_made_of_credits_needs_no_more_than_these(counts, m, backward):
    table = schedule_of(counts, m, backward=backward)
    table.verify(rendezvous=False)
    assert all(need <= count for need, count in zip(credits(table), counts, strict=True))


def test_credits_are_what_a_schedule_has_under_way():
    assert credits(schedule("1f1b", 4, 6)) == (4, 3, 2, 1)
    assert credits(schedule("gpipe", 3, 6)) == (6, 6, 6)
    assert credits(schedule("gpipe", 3, 6, forward_only=True)) == (2, 2, 2)


def test_the_plan_of_a_split_backward_keeps_what_the_weights_need():
    table = Schedule.parse("zb: 2 stages, 2 microbatches\ndevice 0: F0 F1 B0 W0 B1 W1\ndevice 1: F0 B0 F1 B1 W0 W1")
    plan = plan_of(table, [7, 5])
    assert plan.ranks == (5, 7)
    assert plan.edge["held1"] == Edge("held1", "B1", ("W1",), 2)
    assert plan.edge["held0"].credits == 1
    assert plan.orders[5] == ("F1", "B1", "F1", "B1", "W1", "W1")
    plan.verify()


def test_plans_of_schedules_that_registers_cannot_serve_are_refused():
    backward = "x: 1 stages, 2 microbatches\ndevice 0: F0 F1 BW1 BW0"
    with pytest.raises(ValueError, match="BW0 takes microbatch 1 where 0 is next"):
        plan_of(Schedule.parse(backward))
    with pytest.raises(ValueError, match="stage 0 has both BW and B"):
        plan_of(Schedule.parse("x: 1 stages, 2 microbatches\ndevice 0: F0 F1 BW0 B1 W1"))
    with pytest.raises(ValueError, match=r"expected 2 different ranks, one a device, got \(1, 1\)"):
        plan_of(schedule("1f1b", 2, 2), [1, 1])


def test_a_plan_that_makes_no_sense_is_refused_at_construction():
    a, b = Task("a", 0, 4), Task("b", 1, 2)
    assert Plan((a, b), (Edge("e", "a", ("b",), 1, every=2),)).verify()
    for make, message in [
        (lambda: Plan((), ()), "one task or more"),
        (lambda: Plan((a, a), ()), "2 tasks are named 'a'"),
        (lambda: Plan((a, b), (Edge("e", "a", ("b",)),)), "'a' fires 4 times and fills every 1, but 'b' fires 2"),
        (lambda: Plan((a,), (Edge("e", "a", ("c",)),)), "there is no task 'c'"),
        (lambda: Plan((a, b), (), {0: ("b", "b")}), "the order of rank 0 names 'b', which is no task of that rank"),
        (lambda: Plan((a, b), (), {1: ("b",)}), "names 'b' 1 times, it fires 2 times"),
        (lambda: Edge("e", "a", ("b",), 0), "credits and every are >= 1, got 0 and 1"),
        (lambda: Edge("e", "a", "b"), "dst is a tuple of one or more different tasks"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match="the edges go in a circle: c -> a -> c"):
        Plan((a, Task("c", 0, 4)), (Edge("e", "a", ("c",)), Edge("f", "c", ("a",)))).verify()


def test_too_few_credits_for_an_order_are_found_before_anything_runs():
    tasks = (Task("a", 0, 2), Task("b", 0, 2))
    edge = Edge("e", "a", ("b",), 1)
    with pytest.raises(ValueError, match=r"deadlock.*b\[0\] -> a\[1\]|deadlock.*a\[1\] -> b\[0\]"):
        Plan(tasks, (edge,), {0: ("a", "a", "b", "b")}).verify()
    Plan(tasks, (Edge("e", "a", ("b",), 2),), {0: ("a", "a", "b", "b")}).verify()
