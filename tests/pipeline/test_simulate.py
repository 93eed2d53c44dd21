"""The simulator against closed forms and published numbers."""

import pytest

from flow_pipeline import Costs, Schedule, schedule, simulate

# arXiv 2401.10241, Tables 5 and 9: stages, microbatches, F, B, W and hop in ms, bubble rates of 1F1B and ZB-H1
TABLE_5 = [
    (8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585),
    (8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242),
    (8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0674),
    (16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1397),
    (16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.1088),
    (16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576),
]


@pytest.mark.parametrize("row", TABLE_5, ids=lambda row: f"{row[0]}x{row[1]}")
def test_bubble_rates_are_the_published_ones_to_four_digits(row):
    p, m, *costs, one_f_one_b, zb_h1 = row
    assert round(simulate(schedule("1f1b", p, m), Costs(*costs)).stage_bubble_rate, 4) == one_f_one_b
    assert round(simulate(schedule("zb_h1", p, m), Costs(*costs)).stage_bubble_rate, 4) == zb_h1


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize(("f", "b", "w"), [(1, 1, 1), (3, 2, 1), (10, 12, 9), (2, 3, 2.5)])
def test_zb_h1_has_its_closed_forms(p, f, b, w):
    """(p-1)(F+B-W) needs W <= F: with p microbatches under way, device 0 waits (p-1) B for the first gradient."""
    for m in (p, 2 * p, 40):
        timeline = simulate(schedule("zb_h1", p, m), Costs(f, b, w, keep_b=1, keep_w=0.25))
        assert timeline.bubble == pytest.approx([(p - 1) * max(f + b - w, b)] * p, abs=1e-9)
        if m >= 2 * p - 1:
            assert timeline.peak_activations == tuple(p - s + s * 0.25 for s in range(p))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("m", [1, 2, 5, 16, 33])
def test_bubble_and_peak_are_the_closed_forms(p, m):
    costs = Costs(forward=2, backward=3, weight=1.5)
    for name, peaks in (("gpipe", (m,) * p), ("1f1b", tuple(min(p - s, m) for s in range(p)))):
        timeline = simulate(schedule(name, p, m), costs)
        assert timeline.bubble == ((p - 1) * 6.5,) * p
        assert timeline.makespan == (m + p - 1) * 6.5
        assert timeline.bubble_rate == pytest.approx((p - 1) / (m + p - 1), abs=1e-15)
        assert timeline.peak_activations == peaks


def test_a_number_is_a_devices_share_and_a_sequence_is_each_stages_cost():
    table = Schedule.parse("v: 2 stages, 1 microbatches\ndevice 0: F0 F0@1 B0@1 B0 W0@1 W0")
    even = simulate(table, Costs(forward=2, backward=4, weight=6, hop=9, keep_b=1, keep_w=0.5))
    assert even.makespan == 12
    assert even.peak_activations == (1.0,)
    uneven = simulate(table, Costs(forward=[1, 2], backward=[3, 4], weight=[5, 6], keep_b=[1, 10], keep_w=[2, 30]))
    assert uneven.makespan == 21
    assert uneven.peak_activations == (32,)
    with pytest.raises(ValueError, match="forward has 3 values, the schedule has 2 stages"):
        simulate(table, Costs(forward=[1, 2, 3], backward=1, weight=1))
    with pytest.raises(ValueError, match="hop is 0 or more, got -1"):
        Costs(1, 1, 1, hop=-1)


def test_an_order_that_deadlocks_is_not_simulated():
    with pytest.raises(ValueError, match=r"mine deadlocks: .*verify"):
        simulate(Schedule.parse("mine: 1 stages, 1 microbatches\ndevice 0: BW0 F0"), Costs(1, 1, 1))


def test_the_drawing_shows_who_does_what_when():
    assert simulate(schedule("1f1b", 2, 2), Costs(1, 1, 1)).text(width=36).split("\n") == [
        "1f1b: makespan 9, bubble rate 0.3333",
        "  0 |F0--F1--........BW0-----....BW1-----| peak 2",
        "  1 |....F0--BW0-----F1--BW1-----........| peak 1",
    ]


def test_what_is_no_schedule_or_no_costs_is_a_type_error():
    for given in ((None, Costs(1, 1, 1)), (schedule("1f1b", 2, 2), None)):
        with pytest.raises(TypeError, match="simulate takes a Schedule and its Costs"):
            simulate(*given)
