"""Parts are combined wide, in one order, and rounded once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_sbp import Layout, Placement, World, assemble, plan, shard, simulate
from flow_sbp.dtype import TABLE, narrow, widen
from flow_sbp.reduction import COMBINE, Fold, neutral, refusal
from flow_sbp.sbp import KINDS

BF16 = TABLE["bf16"]


@given(st.integers(0, 0xFFFF))
def test_bf16_survives_widening_and_narrowing(word):
    words = np.array([word], np.uint16)
    wide = widen(words, BF16)
    if np.isnan(wide[0]):
        assert np.isnan(widen(narrow(wide, BF16), BF16)[0])
    else:
        assert narrow(wide, BF16)[0] == word


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**126), max_value=2.0**126))
def test_narrowing_rounds_to_the_nearest_even_word(x):
    word = int(narrow(np.array([x], "f4"), BF16)[0])
    value = float(np.float32(x))
    error = abs(float(widen(np.array([word], np.uint16), BF16)[0]) - value)
    for near in (word - 1, word + 1):
        if 0 <= near < 0xFFFF and np.isfinite(other := float(widen(np.array([near], np.uint16), BF16)[0])):
            assert error < abs(other - value) or (error == abs(other - value) and word % 2 == 0)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_the_neutral_element_changes_nothing(row, op):
    if refusal(op, row):
        return
    words = np.array([0, 1, 3], np.uint16) if row.name == "bf16" else np.array([0, 1, 3]).astype(row.words)
    out = np.empty_like(words)
    fold = Fold(((op, 2),), out, row)
    fold.add(np.full_like(words, neutral(op, row)))
    fold.add(words)
    np.testing.assert_array_equal(out, words)


def test_the_kinds_have_their_rows():
    assert tuple(COMBINE) == KINDS


def test_bf16_sums_round_once():
    # 256 + 1 + 1 is 258; rounded after each addition, it stays 256
    placement = Placement([0, 1, 2], "x")
    src, dst = (Layout((1,), "bf16", placement, sbp) for sbp in ("P", "B"))
    shards = [narrow(np.array([x], "f4"), BF16) for x in (256, 1, 1)]
    assert widen(assemble(shards, src), BF16)[0] == 258
    for piece in simulate(plan(src, dst), shards):
        assert widen(piece, BF16)[0] == 258


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "f64", "i8"])
def test_a_sum_has_the_same_bits_whatever_the_route(dtype):
    row, rng = TABLE[dtype], np.random.default_rng(0)
    mesh = Placement([[0, 1, 2], [3, 4, 5]], ("a", "b"))
    src = Layout((37, 41), dtype, mesh, "P, P")
    wide = [rng.normal(size=src.shape) * 100 for _ in range(6)]
    shards = [narrow(w.astype(row.sums), row) for w in wide]
    expected = assemble(shards, src)
    for sbp in ("B, B", "S(0), B", "S(1), S(0)", "B, S(1)", "S(0), S(0)"):
        for placement in (mesh, Placement([[5, 0, 3], [4, 2, 1]], ("a", "b")), Placement([[7, 6]], ("a", "b"))):
            dst = Layout(src.shape, dtype, placement, sbp)
            assert assemble(simulate(plan(src, dst), shards), dst, check_replicas=True).tobytes() == expected.tobytes()


def test_addends_travel_in_their_own_dtype():
    placement = Placement([0, 1], "x")
    src, dst = (Layout((64,), "bf16", placement, sbp) for sbp in ("P", "S(0)"))
    world = World(2)
    simulate(plan(src, dst), shard(np.arange(64, dtype=np.uint16), src), world=world)
    assert sum(world.bytes_sent.values()) == plan(src, dst).bytes_on_wire == 64 * 2
