"""Schedules as values: text, proof, planted faults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_pipeline import Action, Schedule, plan_of, schedule

NAMES = ("gpipe", "1f1b", "zb_h1")
SIZES = [(p, m) for p in (1, 2, 3, 4, 8) for m in (1, 2, 3, 8, 13)]


def swap(table: Schedule, device: int, i: int, j: int) -> Schedule:
    actions = list(table.devices[device])
    actions[i], actions[j] = actions[j], actions[i]
    return with_device(table, device, actions)


def with_device(table: Schedule, device: int, actions) -> Schedule:
    devices = [*table.devices[:device], tuple(actions), *table.devices[device + 1 :]]
    return Schedule(table.name, table.num_stages, table.num_microbatches, tuple(devices), table.skips)


@st.composite
def schedules(draw):
    p, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    pairs = [(a, b) for a in range(p) for b in range(a + 1, p)]
    skips = draw(st.lists(st.sampled_from(pairs), max_size=3, unique=True)) if pairs else []
    return schedule(draw(st.sampled_from(NAMES)), p, m, skips=tuple(skips), forward_only=draw(st.booleans()))


@given(schedules())
def test_a_schedule_is_what_its_text_says(table):
    assert Schedule.parse(str(table)) == table


def test_a_person_can_edit_the_text():
    text = """
    # two chunks a device, the weights apart
    mine: 4 stages, 1 microbatch

    device 0: F0 F0@2  B0@2 W0@2 BW0
    device 1: F0 F0@3  BW0@3  BW0   # device 1 holds stages 1 and 3
    """
    table = Schedule.parse(text)
    assert table.devices[0][2] == Action("B", 2, 0)
    assert table.verify(rendezvous=False) == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("device 0: F0", "expected '<name>: <p> stages"),
        ("x: 1 stages, 1 microbatches\ndevice 0: F0 Q0", "line 2: expected an action like F3.*'Q0'"),
        ("x: 2 stages, 1 microbatches\ndevice 1: F0", "line 2: expected 'device 0"),
        ("x: 2 stages, 1 microbatches\nskip 1 -> 0", "a skip goes from a stage to a later one"),
    ],
)
def test_text_that_is_no_schedule_is_refused_with_its_line(text, message):
    with pytest.raises(ValueError, match=message):
        Schedule.parse(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("p", "m"), SIZES)
def test_schedule_deadlock_free(name, p, m):
    """Case G7: proven with zero-buffer sends before anything runs."""
    held = schedule(name, p, m).verify(rendezvous=True)
    most = {"gpipe": [m] * p, "1f1b": [p - s for s in range(p)], "zb_h1": [p] * p}[name]
    assert held == tuple(min(count, m) for count in most)
    assert schedule(name, p, m, forward_only=True).verify(rendezvous=True) == (m,) * p


def test_rendezvous_finds_the_deadlock_of_a_batched_skip():
    table = schedule("1f1b", 4, 6, skips=((0, 3),))
    assert table.verify(rendezvous=False) == (4, 3, 2, 1)
    with pytest.raises(ValueError, match=r"sends wait for their receives.*BW1@3 on device 3 -> F3@0 on device 0"):
        table.verify()
    plan_of(table).verify()


@given(st.data())
def test_verify_names_an_action_that_is_missing(data):
    table = schedule(data.draw(st.sampled_from(NAMES)), 3, 3)
    device = data.draw(st.integers(0, 2))
    actions = list(table.devices[device])
    gone = actions.pop(data.draw(st.integers(0, len(actions) - 1)))
    with pytest.raises(ValueError, match=rf"{gone}(?!\d)"):
        with_device(table, device, actions).verify()


def test_verify_finds_every_fault_that_is_planted():
    table = schedule("1f1b", 2, 3)
    first = table.devices[0]
    with pytest.raises(ValueError, match="F0@0 is there 2 times"):
        with_device(table, 0, (first[0], *first)).verify()
    with pytest.raises(ValueError, match="F7@0 is outside 2 stages and 3 microbatches"):
        with_device(table, 0, (*first, Action("F", 0, 7))).verify()
    with pytest.raises(ValueError, match="expected BW2@0, or B2@0 and W2@0; found B2@0"):
        with_device(table, 0, (*first[:-1], Action("B", 0, 2))).verify()
    moved = with_device(table, 0, [a for a in first if a != Action("F", 0, 2)])
    moved = with_device(moved, 1, (Action("F", 0, 2), *table.devices[1]))
    with pytest.raises(ValueError, match="share a device: F2@0 on device 1, BW2@0 on device 0"):
        moved.verify()
    with pytest.raises(ValueError, match=r"deadlock, each waits for the one before: .*BW0@0 on device 0"):
        swap(table, 0, 0, 2).verify()
    with pytest.raises(ValueError, match="device 0 holds 2 microbatches, more than memory_limit=1"):
        table.verify(memory_limit=1)


@pytest.mark.parametrize(("name", "p", "m"), [("2f2b", 2, 2), ("1f1b", 0, 2), ("1f1b", 2, 0), ("1f1b", 2, 1.5)])
def test_schedules_that_do_not_exist_are_refused(name, p, m):
    with pytest.raises(ValueError, match=r"no schedule is named '2f2b'; there are gpipe|is a number of 1 or more"):
        schedule(name, p, m)
