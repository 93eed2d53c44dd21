"""Layouts: which slice each rank holds, their text, their equality."""

import numpy as np
import pytest
from hypothesis import given

from flow_sbp import Layout, Partial, Placement, Split, assemble, broadcast, shard
from flow_sbp.dtype import TABLE, dtype_of
from flow_sbp.layout import balanced
from flow_sbp.testing import layouts

MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))
CUBE = Placement(np.arange(8).reshape(2, 2, 2), ("dp", "tp", "pp"))


@given(layouts(kinds=("sum", "max", "min", "prod")))
def test_a_layout_parses_back_from_its_text(layout):
    again = Layout.parse(str(layout), layout.placement)
    assert again == layout
    assert hash(again) == hash(layout)


def test_the_text_is_the_documented_one():
    layout = Layout((8, 4), "float32", CUBE, ["S(0)", "S(0)", "P"])
    assert str(layout) == "f32[8@(dp,tp), 4] P(sum)@pp"
    assert layout == Layout.parse("f32[8@(dp,tp), 4] P@pp", CUBE)
    assert layout.sbp == (Split(0), Split(0), Partial("sum"))
    swapped = Layout((8, 4), "f32", CUBE, "S(0), S(0), P", order={0: ("tp", "dp")})
    assert str(swapped) == "f32[8@(tp,dp), 4] P(sum)@pp"
    assert swapped != layout
    assert str(Layout((), "bf16", CUBE, "B, P(max), P")) == "bf16[] P(max)@tp P(sum)@pp"
    assert str(Layout((5,), "i64", MESH, "S(0), B", sizes={0: (5, 0)})) == "i64[5@dp{5,0}]"


@given(layouts(kinds=("sum", "max", "min", "prod")))
def test_the_slices_of_a_layout_cover_every_element_once_per_copy(layout):
    count = np.zeros(layout.shape, int)
    for rank in layout.placement.ranks:
        count[layout.local_slices(rank)] += 1
        assert layout.local_shape(rank) == count[layout.local_slices(rank)].shape
    used = [axis for axes in layout.splits for axis in axes]
    copies = np.prod(
        [layout.placement.axis_size(axis) for axis in layout.placement.axes if axis not in used], dtype=int
    )
    assert (count == copies).all()


@given(layouts(kinds=("sum", "max", "min", "prod")))
def test_assembling_the_shards_gives_the_value(layout):
    value = np.arange(-5, np.prod(layout.shape, dtype=int) - 5, dtype="f4").reshape(layout.shape)
    shards = shard(value, layout)
    assert [piece.shape for piece in shards] == [layout.local_shape(rank) for rank in layout.placement.ranks]
    np.testing.assert_array_equal(assemble(shards, layout, check_replicas=True), value)


def test_splits_are_balanced_outer_first():
    assert balanced(10, (2, 2)) == (0, 3, 5, 8, 10)
    assert balanced(5, (4,)) == (0, 2, 3, 4, 5)
    assert balanced(3, (5,)) == (0, 1, 2, 3, 3, 3)
    assert balanced(7, ()) == (0, 7)


def test_layouts_are_equal_exactly_when_their_boundaries_are():
    plain = Layout((10,), "f32", MESH, "S(0), S(0)")
    assert Layout((10,), "f32", MESH, "S(0), S(0)", sizes={0: (3, 2, 3, 2)}) == plain
    assert Layout((10,), "f32", MESH, "S(0), S(0)", sizes={0: (3, 3, 2, 2)}) != plain
    flat = MESH.flatten(("dp", "tp"), "x")
    assert Layout((10,), "f32", flat, "S(0)").bounds != plain.bounds
    assert Layout((8,), "f32", flat, "S(0)").bounds == Layout((8,), "f32", MESH, "S(0), S(0)").bounds


@given(layouts())
def test_the_dual_of_the_dual_is_the_layout(layout):
    assert layout.dual().dual() == layout
    assert layout.dual().splits == layout.splits


def test_partial_axes_of_one_kind_commute_and_of_two_kinds_do_not():
    a, b = (Layout((2,), "f32", MESH, "P, P", order={"P": order}) for order in (("dp", "tp"), ("tp", "dp")))
    assert a == b
    a, b = (Layout((2,), "f32", MESH, "P, P(max)", order={"P": order}) for order in (("dp", "tp"), ("tp", "dp")))
    assert a != b
    shards = [np.full(2, x, "f4") for x in (1, 5, 2, 3)]
    assert assemble(shards, a)[0] == max(1, 5) + max(2, 3)
    assert assemble(shards, b)[0] == max(1 + 2, 5 + 3)


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_every_dtype_has_its_size(row):
    layout = Layout((3, 2), row.name, MESH, "S(0), B")
    assert layout.nbytes == 6 * row.size == 6 * row.words.itemsize
    if row.name != "bf16":
        assert dtype_of(row.words) is dtype_of(row.words.name) is row
    value = np.arange(6).reshape(3, 2).astype(row.words)
    np.testing.assert_array_equal(assemble(shard(value, layout), layout), value)


@pytest.mark.parametrize(
    ("given_", "error", "says"),
    [
        (dict(sbp="S(0)"), ValueError, "has 2 axes, got 1 sbp"),
        (dict(sbp="S(2), B"), ValueError, r"S\(2\) of a tensor with 2 dims"),
        (dict(shape=(-1, 4)), ValueError, ">= 0"),
        (dict(shape=(2.5, 4)), TypeError, "integers"),
        (dict(dtype="f8"), ValueError, "unknown dtype 'f8'"),
        (dict(placement=[0, 1]), TypeError, "Placement"),
        (dict(sizes={0: (5, 4)}), ValueError, "add up to 8, .* add up to 9"),
        (dict(sizes={0: (8,)}), ValueError, "into 2 pieces, got 1"),
        (dict(sizes={1: (2, 2)}), ValueError, "no mesh axis splits it"),
        (dict(order={0: ("tp",)}), ValueError, "must name the axes that split it"),
        (dict(dtype="bool", sbp="P, B"), ValueError, "bool has no sum"),
        (dict(dtype="c64", sbp="P(max), B"), ValueError, "no order"),
    ],
)
def test_what_does_not_fit_is_refused(given_, error, says):
    arguments = dict(shape=(8, 4), dtype="f32", placement=MESH, sbp="S(0), B") | given_
    with pytest.raises(error, match=says):
        Layout(**arguments)


@pytest.mark.parametrize(
    "text",
    [
        "f32",
        "f32[8@]",
        "f32[8@dp@tp]",
        "f32[8] Q",
        "f32[8@dp{}]",
        "f32[8@dp{3,6}]",
        "f32[8,]x",
        "f32[8@zz]",
        "f32[8@dp, 8@dp]",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        Layout.parse(text, MESH)


def test_a_rank_that_holds_nothing_is_named():
    with pytest.raises(ValueError, match="rank 9 is not in"):
        Layout((8,), "f32", MESH, "B, B").local_shape(9)


def test_shards_that_do_not_fit_are_refused():
    layout = Layout((8, 4), "f32", MESH, "S(0), B")
    with pytest.raises(ValueError, match="for shape"):
        shard(np.zeros((4, 8), "f4"), layout)
    with pytest.raises(TypeError, match="expected an array of f32"):
        shard(np.zeros((8, 4), "f8"), layout)
    with pytest.raises(ValueError, match="rank 2 holds a shard of shape"):
        assemble([np.zeros((4, 4), "f4")] * 2 + [np.zeros((3, 4), "f4")] * 2, layout)
    with pytest.raises(ValueError, match="4 ranks, got 1"):
        assemble([np.zeros((8, 4), "f4")], layout)
    with pytest.raises(ValueError, match="ranks 0 and 1 hold copies, but 16 of 16"):
        assemble([np.full((4, 4), i, "f4") for i in range(4)], layout, check_replicas=True)


def test_a_negative_dim_is_resolved_once():
    assert Layout((8, 4), "f32", MESH, [Split(-1), broadcast]) == Layout((8, 4), "f32", MESH, "S(1), B")


def test_no_dtype_is_not_taken_for_float64_and_no_layout_is_a_type_error():
    with pytest.raises(TypeError, match=r"a dtype is a name .*got None"):
        Layout((8,), None, MESH, "B, B")
    with pytest.raises(TypeError, match="layout must be a Layout, got None"):
        shard(np.zeros(8, "f4"), None)
    with pytest.raises(TypeError, match="layout must be a Layout, got 'f32'"):
        assemble([np.zeros(8, "f4")], "f32")
