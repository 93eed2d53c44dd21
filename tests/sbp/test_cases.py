"""How distributed tensor libraries go wrong, case by case: placements and shards (a), redistribution (d)."""

from itertools import permutations, product

import numpy as np
import pytest

from flow_sbp import Layout, Placement, World, assemble, lower_bound, plan, shard, simulate

X4 = Placement(range(4), "x")
MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))


def arange(*shape):
    return np.arange(np.prod(shape), dtype="f4").reshape(shape)


def moved(value, src, dst):
    return assemble(simulate(plan(src, dst), shard(value, src)), dst, check_replicas=True)


def test_a1_ragged_roundtrip():
    layout = Layout((7,), "f32", X4, "S(0)", sizes={0: (2, 4, 1, 0)})
    assert layout.bounds[0] == (0, 2, 6, 7, 7)
    np.testing.assert_array_equal(np.concatenate(shard(arange(7), layout)), arange(7))
    for sbp in ("B", "S(0)", "P"):
        other = Layout((7,), "f32", X4, sbp)
        np.testing.assert_array_equal(moved(arange(7), layout, other), arange(7))
        np.testing.assert_array_equal(moved(arange(7), other, layout), arange(7))


def test_a2_from_shards_shape():
    layout = Layout((10,), "f32", X4, "S(0)")
    pieces = [np.zeros(n, "f4") for n in (3, 3, 3, 1)]
    with pytest.raises(
        ValueError, match=r"rank 2 holds a shard of shape \(2,\), got \(3,\).*give the layout their sizes"
    ):
        assemble(pieces, layout)
    agreed = Layout((10,), "f32", X4, "S(0)", sizes={0: (3, 3, 3, 1)})
    assert assemble(pieces, agreed).shape == (10,)


def test_a5_flatten_ragged():
    rows = Layout((6, 3), "f32", X4, "S(0)")
    flat = Layout((18,), "f32", X4, "S(0)", sizes={0: tuple(3 * n for n in np.diff(rows.bounds[0]))})
    assert flat.bounds[0] == tuple(3 * offset for offset in rows.bounds[0]) == (0, 6, 12, 15, 18)
    shards = [piece.reshape(-1) for piece in shard(arange(6, 3), rows)]
    np.testing.assert_array_equal(assemble(shards, flat), arange(18))
    assert flat != Layout((18,), "f32", X4, "S(0)")


def test_a7_two_axes_one_dim_5():
    orders = [("dp", "tp"), ("tp", "dp")]
    layouts = [Layout((5,), "f32", MESH, "S(0), S(0)", order={0: order}) for order in orders]
    assert [[s.local_slices(rank)[0].start for rank in range(4)] for s in layouts] == [[0, 2, 3, 4], [0, 3, 2, 4]]
    for src, dst in product(layouts, repeat=2):
        np.testing.assert_array_equal(moved(arange(5), src, dst), arange(5))


def nested(start, stop, counts, coordinates):
    """The piece of [start, stop) at the coordinates, by the definition: the first pieces are one larger."""
    for count, at in zip(counts, coordinates, strict=True):
        sizes = [(stop - start) // count + (i < (stop - start) % count) for i in range(count)]
        start, stop = start + sum(sizes[:at]), start + sum(sizes[: at + 1])
    return slice(start, stop)


@pytest.mark.parametrize("mesh", [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)])
def test_a8_offset_table(mesh):
    placement = Placement(np.arange(mesh[0] * mesh[1]).reshape(mesh), ("x", "y"))
    for shape in product(range(10), repeat=2):
        for sbp in product(("B", "S(0)", "S(1)"), repeat=2):
            for order in permutations(range(2)):
                split = {dim: [i for i in order if sbp[i] == f"S({dim})"] for dim in range(2)}
                names = {dim: ["xy"[i] for i in axes] for dim, axes in split.items() if axes}
                layout = Layout(shape, "f32", placement, sbp, order=names)
                count = np.zeros(shape, int)
                for rank in placement.ranks:
                    at = placement.coordinates(rank)
                    expected = tuple(
                        nested(0, shape[dim], [mesh[i] for i in axes], [at[i] for i in axes])
                        for dim, axes in split.items()
                    )
                    assert layout.local_slices(rank) == expected
                    count[expected] += 1
                copies = [mesh[i] for i in range(2) if sbp[i] == "B"]
                assert (count == np.prod(copies, dtype=int)).all()


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 5, 8])
def test_a9_roundtrip_small_n(num_ranks):
    placement = Placement(range(num_ranks), "x")
    for n in range(num_ranks + 2):
        split, whole = (Layout((n,), "f32", placement, sbp) for sbp in ("S(0)", "B"))
        for piece in simulate(plan(split, whole), shard(arange(n), split)):
            np.testing.assert_array_equal(piece, arange(n))
        np.testing.assert_array_equal(moved(arange(n), whole, split), arange(n))


def test_a10_local_contiguity():
    for sbp in ("S(0)", "S(1)", "B", "P"):
        src = Layout((5, 7), "f32", X4, "S(1)")
        dst = Layout((5, 7), "f32", X4, sbp)
        shards = shard(arange(5, 7), src)
        for layout, pieces in ((src, shards), (dst, simulate(plan(src, dst), shards))):
            for rank, piece in zip(X4.ranks, pieces, strict=True):
                assert piece.strides == np.empty(layout.local_shape(rank), "f4").strides
                assert piece.base is None or piece.base.size == piece.size


def test_a11_ckpt_empty_shard():
    placement = Placement(range(5), "x")
    layout = Layout((3,), "f32", placement, "S(0)")
    chunks = [(layout.local_slices(rank)[0].start, layout.local_shape(rank)[0]) for rank in placement.ranks]
    assert [size for _, size in chunks] == [1, 1, 1, 0, 0]
    written = {start: piece for (start, size), piece in zip(chunks, shard(arange(3), layout), strict=True) if size}
    assert sorted(written) == [0, 1, 2]
    np.testing.assert_array_equal(
        moved(arange(3), layout, Layout((3,), "f32", Placement([9, 8], "x"), "S(0)")), arange(3)
    )


@pytest.mark.parametrize(("n", "num_ranks"), [(5, 4), (2, 4)])
def test_a14_not_divisible(n, num_ranks):
    layout = Layout((n, 2), "f32", X4, "S(0)")
    assert [layout.local_shape(rank)[0] for rank in range(num_ranks)] == sorted(np.diff(layout.bounds[0]), reverse=True)
    np.testing.assert_array_equal(moved(arange(n, 2), Layout((n, 2), "f32", X4, "B"), layout), arange(n, 2))


def test_b12_partial_kind_change():
    src, dst = (Layout((6,), "f32", X4, sbp) for sbp in ("P", "P(max)"))
    shards = [arange(6) - 9 * i for i in range(4)]
    np.testing.assert_array_equal(assemble(simulate(plan(src, dst), shards), dst), assemble(shards, src))
    assert plan(src, dst).bytes_on_wire == 3 * src.nbytes


def test_b15_s_to_p():
    for sizes in (None, {0: (0, 5, 0, 2)}):
        src = Layout((7, 2), "f32", X4, "S(0)", sizes=sizes)
        dst = Layout((7, 2), "f32", X4, "P")
        assert plan(src, dst).bytes_on_wire == 0
        np.testing.assert_array_equal(moved(arange(7, 2), src, dst), arange(7, 2))
        assert plan(dst.dual(), src.dual()).bytes_on_wire == 0


GRID = list(product(product(("B", "S(0)", "S(1)", "P"), repeat=2), product(("B", "S(0)", "S(1)"), repeat=2)))


@pytest.mark.parametrize("mesh", [(2, 2), (3, 2), (2, 4)])
def test_d1_cost_is_cost_of_plan(mesh):
    placement = Placement(np.arange(mesh[0] * mesh[1]).reshape(mesh), ("dp", "tp"))
    for here, there in GRID:
        src, dst = (Layout((7, 5), "f32", placement, sbp) for sbp in (here, there))
        world, this = World(placement.size), plan(src, dst)
        simulate(this, shard(arange(7, 5), src), world=world)
        travelled = sum(
            4 * int(np.prod(stop - start))
            for step in this.steps
            for a, b, start, stop in zip(step.src, step.dst, step.starts, step.stops, strict=True)
            if a != b
        )
        assert travelled == this.bytes_on_wire == sum(world.bytes_sent.values())


def test_d3_s2s_cost_less_than_gather():
    split, other, whole = (Layout((8, 8), "f32", X4, sbp) for sbp in ("S(0)", "S(1)", "B"))
    assert plan(split, other).bytes_on_wire == split.nbytes * 3 // 4
    assert plan(split, whole).bytes_on_wire == split.nbytes * 3
    assert "all-to-all" in plan(split, other).explain()


@pytest.mark.parametrize("shape", [(16, 8), (7, 5)])
@pytest.mark.parametrize("mesh", [(2, 2), (3, 2), (2, 4), (4, 2)])
def test_d4_bytes_vs_lower_bound(mesh, shape):
    placement = Placement(np.arange(mesh[0] * mesh[1]).reshape(mesh), ("dp", "tp"))
    for here, there in GRID:
        src, dst = (Layout(shape, "f32", placement, sbp) for sbp in (here, there))
        this = plan(src, dst)
        assert this.bytes_on_wire == lower_bound(src, dst)
        held = [(src.local_nbytes(r), dst.local_nbytes(r)) for r in placement.ranks]
        assert this.peak_bytes <= max(a + b + max(a, b) for a, b in held)


def test_d4_partial_twice_to_split_twice_is_one_step():
    src, dst = (Layout((16, 8), "f32", MESH, sbp) for sbp in ("P, P", "S(0), S(1)"))
    assert [step.kind for step in plan(src, dst).steps] == ["add"]
    assert plan(src, dst).bytes_on_wire == 3 * src.nbytes


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (Placement([0, 1], "x"), Placement([2, 3], "x")),
        (Placement([0, 1, 2, 3], "x"), Placement([1, 2], "x")),
        (Placement([0, 1, 2], "x"), Placement([2, 3, 4, 5], "x")),
        (Placement([5], "x"), Placement(range(8), "x")),
        (Placement([3, 1, 0, 2], "x"), X4),
    ],
    ids=["disjoint", "nested", "overlapping", "one to many", "permuted"],
)
def test_d6_mesh_a_to_mesh_b(here, there):
    for a, b in product(("B", "S(0)", "S(1)", "P"), repeat=2):
        src, dst = Layout((9, 5), "f32", here, a), Layout((9, 5), "f32", there, b)
        np.testing.assert_array_equal(moved(arange(9, 5), src, dst), arange(9, 5))
        assert plan(src, dst).bytes_on_wire == lower_bound(src, dst)


def test_d6_one_axis_to_two():
    two = Placement([[2, 3, 4], [5, 6, 7]], ("dp", "tp"))
    for a, b in product(("B", "S(0)", "P"), product(("B", "S(0)", "S(1)", "P"), repeat=2)):
        src, dst = Layout((9, 5), "f32", X4, a), Layout((9, 5), "f32", two, b)
        for x, y in ((src, dst), (dst, src)):
            np.testing.assert_array_equal(moved(arange(9, 5), x, y), arange(9, 5))
            assert plan(x, y).bytes_on_wire == lower_bound(x, y)


def test_d7_reorder_axes():
    src = Layout((8, 2), "f32", MESH, "S(0), S(0)")
    dst = Layout((8, 2), "f32", MESH, "S(0), S(0)", order={0: ("tp", "dp")})
    this = plan(src, dst)
    assert [step.kind for step in this.steps] == ["keep", "send"]
    assert "permute" in this.explain()
    assert this.bytes_on_wire == src.nbytes // 2  # ranks 1 and 2 change places
    np.testing.assert_array_equal(moved(arange(8, 2), src, dst), arange(8, 2))
