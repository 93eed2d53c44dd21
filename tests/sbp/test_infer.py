"""The signature that is chosen costs the fewest bytes, runs, and is the same whenever it is asked for."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow_sbp import Layout, Placement, assemble, infer, lower_bound, mesh_signatures, rule_of, simulate
from flow_sbp.testing import layouts, placements
from flow_sbp.validate import addends

MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))
MATMUL = rule_of("matmul", ((5, 3), (3, 4)))


def choose(left, right, placement=MESH):
    return infer(MATMUL, (Layout((5, 3), "f32", placement, left), Layout((3, 4), "f32", placement, right)))


@pytest.mark.parametrize(
    ("left", "right", "output"),
    [
        ("B, B", "B, B", "f32[5, 4]"),
        ("S(0), B", "B, S(1)", "f32[5@dp, 4@tp]"),
        ("S(0), S(1)", "B, S(0)", "f32[5@dp, 4] P(sum)@tp"),
        ("B, P", "B, B", "f32[5, 4] P(sum)@tp"),
        ("S(1), S(1)", "B, B", "f32[5, 4] P(sum)@(dp,tp)"),
        ("S(0), S(0)", "B, B", "f32[5@(dp,tp), 4]"),
    ],
)
def test_what_fits_already_costs_nothing(left, right, output):
    choice = choose(left, right)
    assert [str(layout) for layout in choice.outputs] == [output]
    assert choice.bytes_on_wire == 0


def test_orders_and_explicit_sizes_are_taken_over():
    left = Layout((5, 3), "f32", MESH, "S(0), S(0)", order={0: ("tp", "dp")}, sizes={0: (0, 3, 1, 1)})
    choice = infer(MATMUL, (left, Layout((3, 4), "f32", MESH, "B, B")))
    assert str(choice.outputs[0]) == "f32[5@(tp,dp){0,3,1,1}, 4]"
    assert choice.plans == (None, None)


@settings(max_examples=40)
@given(st.data())
def test_the_choice_costs_the_least_and_gives_the_product(data):
    placement = data.draw(placements(max_axes=2, max_ranks=6))
    srcs = tuple(data.draw(layouts(shape, dtype="f64", placement=placement)) for shape in ((5, 3), (3, 4)))
    choice = infer(MATMUL, srcs)
    rng = np.random.default_rng(0)
    values = [rng.integers(-5, 5, src.shape).astype("f8") for src in srcs]
    moved = []
    for value, src, way in zip(values, srcs, choice.plans, strict=True):
        shards = addends(value, src, rng)
        moved.append(simulate(way, shards) if way else shards)
    results = [a @ b for a, b in zip(*moved, strict=True)]
    np.testing.assert_array_equal(assemble(results, choice.outputs[0]), values[0] @ values[1])
    assert infer(MATMUL, srcs) is choice
    balanced_costs = []
    for row in mesh_signatures(MATMUL, ((5, 3), (3, 4)), len(placement.axes)):
        pairs = [(src, src.with_sbp(sbp)) for src, sbp in zip(srcs, row.inputs, strict=True)]
        balanced_costs.append(sum(lower_bound(*pair) for pair in pairs))
    if not any(src.sizes or src.splits != src.with_sbp(src.sbp).splits for src in srcs):
        assert choice.bytes_on_wire == min(balanced_costs)


def test_ties_are_broken_by_the_fewest_inputs_moved_then_by_the_rules_order():
    for left, right in product(("B, B", "S(0), B", "B, S(1)"), repeat=2):
        first = choose(left, right)
        again = infer.__wrapped__(MATMUL, (first.plans[0].src if first.plans[0] else first.inputs[0],
                                           first.plans[1].src if first.plans[1] else first.inputs[1]))  # fmt: skip
        assert again.signature == first.signature


def test_inputs_on_two_placements_are_refused():
    other = Placement([0, 1], "x")
    with pytest.raises(ValueError, match="runs on one placement, its inputs lie on 2"):
        infer(MATMUL, (Layout((5, 3), "f32", MESH, "B, B"), Layout((3, 4), "f32", other, "B")))
