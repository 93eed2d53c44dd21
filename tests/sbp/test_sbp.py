"""Sbp values: their text, their dual, and what they refuse."""

import pytest
from hypothesis import given

from flow_sbp import Broadcast, Partial, Split, broadcast, dual, parse, partial_sum, split
from flow_sbp.testing import sbps


@given(sbps(ndim=4))
def test_an_sbp_parses_back_from_its_text(sbp):
    assert parse(str(sbp)) == sbp


def test_the_texts_people_write_are_known():
    assert [parse(text) for text in ("S(0)", "S(-1)", "B", "P", "P(sum)", "P(max)")] == [
        Split(0),
        Split(-1),
        Broadcast(),
        Partial(),
        Partial("sum"),
        Partial("max"),
    ]
    assert (split(0), broadcast, partial_sum) == (Split(0), Broadcast(), Partial("sum"))


@given(sbps(ndim=3, kinds=("sum",)))
def test_the_dual_of_the_dual_is_the_sbp(sbp):
    assert dual(dual(sbp)) == sbp


def test_broadcast_and_partial_sum_are_each_others_dual():
    assert (dual("B"), dual("P"), dual("S(1)")) == (partial_sum, broadcast, Split(1))
    with pytest.raises(ValueError, match="not linear"):
        dual("P(max)")


@pytest.mark.parametrize("text", ["S", "S(x)", "b", "P()", "", "S(0) B", "P(mean"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="write"):
        parse(text)


def test_other_values_are_refused():
    with pytest.raises(TypeError, match="got 3"):
        parse(3)
    with pytest.raises(ValueError, match="sum, max, min, prod"):
        Partial("median")
    with pytest.raises(TypeError, match="int"):
        Split("0")
