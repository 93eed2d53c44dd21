"""The state machine: it acts just when inputs are full and outputs free, and never deadlocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_pipeline import Actor, Edge, Plan, Task
from flow_pipeline.actor import Act, Done, Filled, GiveBack, Returned, Send, Start
from flow_pipeline.testing import interleave, mixing_functions, plans, sequential

PLAN = Plan(
    (Task("a", 0, 2), Task("b", 1, 2), Task("c", 2, 2), Task("d", 3, 2)),
    (Edge("x", "a", ("b",)), Edge("y", "b", ("c", "d"), 1)),
)


def test_an_actor_acts_when_inputs_are_full_and_outputs_free():
    b = Actor(PLAN, PLAN.task["b"])
    assert b.handle(Filled("b", "x", 10)) == []
    assert b.handle(Start("b")) == [Act("b", 0, (10,))]
    assert b.handle(Filled("b", "x", 11)) == []
    assert b.handle(Done("b", (20,))) == [Send("c", "y", 20), Send("d", "y", 20), GiveBack("a", "x", "b")]
    assert b.handle(Returned("b", "y", "c")) == []
    assert str(b) == "b has fired 1 of 2 times and waits for d (rank 3) to send a register of 'y' back"
    assert b.handle(Returned("b", "y", "d")) == [Act("b", 1, (11,))]
    assert str(b) == "b has fired 1 of 2 times and is at work"
    assert b.handle(Done("b", (21,)))[-1] == GiveBack("a", "x", "b")
    assert b.finished
    assert str(b) == "b has fired 2 of 2 times and is through"


def test_a_register_that_never_was_filled_cannot_come_back():
    b = Actor(PLAN, PLAN.task["b"])
    with pytest.raises(AssertionError):
        b.handle(Returned("b", "y", "c"))


@given(plans(), st.data(), st.integers(1, 2))
def test_actors_never_deadlock_and_give_the_sequential_results(plan, data, runs):
    """Any acyclic plan, any credits >= 1, any interleaving; `interleave` asserts that credits are never exceeded."""
    functions = mixing_functions(plan)
    results, through = interleave(plan, functions, lambda n: data.draw(st.integers(0, n - 1)), runs=runs)
    assert through
    assert results == {name: values * runs for name, values in sequential(plan, functions).items()}
