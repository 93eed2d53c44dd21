"""Masks, places, searches and counts are numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import examples

F32, F64, I64 = flow.float32, flow.float64, flow.int64
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
dtypes = st.sampled_from([flow.bool, flow.uint8, I64, F32, F64])
seeds = st.integers(0, 2**32 - 1)


def drawn(shape, dtype, seed, low=-3, high=3):
    values = np.random.default_rng(seed).integers(0 if dtype.kind == "u" else low, high + 1, shape)
    return np.asarray(values, dtype)


@examples(100)
@given(shapes, dtypes, seeds)
def test_nonzero_and_its_kin_name_the_places(shape, dtype, seed):
    array = drawn(shape, dtype, seed, -1, 1)
    x = flow.from_numpy(array)
    np.testing.assert_array_equal(flow.nonzero(x).data, np.argwhere(array))
    np.testing.assert_array_equal(flow.argwhere(x).data, np.argwhere(array))
    for places in (flow.nonzero(x, as_tuple=True), flow.where(x)):
        for mine, theirs in zip(places, np.nonzero(np.atleast_1d(array)), strict=True):
            np.testing.assert_array_equal(mine.data, theirs)
            assert mine.dtype is I64
    mask = drawn(shape, flow.bool, seed + 1, 0, 1)
    np.testing.assert_array_equal(flow.masked_select(x, flow.from_numpy(mask)).data, array[mask])
    source = drawn((array.size,), dtype, seed + 2)
    expected = array.copy()
    expected[mask] = source[: mask.sum()]
    np.testing.assert_array_equal(flow.masked_scatter(x, flow.from_numpy(mask), flow.from_numpy(source)).data, expected)
    np.testing.assert_array_equal(flow.masked_fill(x, flow.from_numpy(mask), 1).data, np.where(mask, 1, array))
    assert flow.masked_fill(x, flow.from_numpy(mask), 1).dtype is x.dtype


def test_nonzero_static_has_as_many_rows_as_it_is_told():
    x = flow.tensor([[0, 1], [2, 3]])
    assert flow.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero_static(size=4, fill_value=7).tolist() == [[0, 1], [1, 0], [1, 1], [7, 7]]


def test_masks_broadcast():
    x, mask = flow.arange(6).reshape(2, 3), flow.tensor([True, False, True])
    assert flow.masked_select(x, mask).tolist() == [0, 2, 3, 5]
    assert flow.masked_fill(x[0], mask.reshape(3, 1), 7).tolist() == [[7] * 3, [0, 1, 2], [7] * 3]
    assert x.masked_scatter(mask, flow.arange(10, 14)).tolist() == [[10, 1, 11], [12, 4, 13]]
    assert flow.where(mask, 1, 2).tolist() == [1, 2, 1]
    assert x.where(mask, -1).tolist() == [[0, -1, 2], [3, -1, 5]]
    assert flow.where(mask, 1.5, x).dtype is F32
    assert flow.where(mask, x, flow.tensor(0.5, dtype=F64)).dtype is F64


@examples(200)
@given(shapes, dtypes, seeds, st.booleans())
def test_unique_is_numpys(shape, dtype, seed, by_dim):
    array = drawn(shape, dtype, seed, -1, 1)
    dim = seed % len(shape) if by_dim and shape and array.size else None
    found = flow.unique(flow.from_numpy(array), return_inverse=True, return_counts=True, dim=dim)
    expected = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine.data, theirs.reshape(mine.shape))
    assert found[1].shape == (array.shape if dim is None else array.shape[dim : dim + 1])
    np.testing.assert_array_equal(flow.unique(flow.from_numpy(array), dim=dim).data, expected[0])


@examples(100)
@given(st.lists(st.integers(0, 2), max_size=9))
def test_runs_are_what_neighbours_share(values):
    kept, inverse, counts = flow.unique_consecutive(flow.tensor(np.array(values, int)), True, True)
    assert np.repeat(kept.data, counts.data).tolist() == values
    assert kept.data[inverse.data].tolist() == values
    assert not (np.diff(kept.data) == 0).any()


def test_unique_of_slices_and_of_nan():
    x = flow.tensor([[1, 0], [0, 2], [1, 0], [1, 0]])
    assert flow.unique(x, dim=0).tolist() == [[0, 2], [1, 0]]
    kept, counts = flow.unique_consecutive(x, return_counts=True, dim=0)
    assert kept.tolist() == [[1, 0], [0, 2], [1, 0]]
    assert counts.tolist() == [1, 1, 2]
    assert flow.unique(flow.tensor([np.nan, 1, np.nan])).shape == (3,)
    assert flow.unique(flow.zeros(0, 3), dim=0).shape == (0, 3)
    with pytest.raises(ValueError, match="all alike"):
        flow.unique(flow.zeros(2, 0), dim=0)


@examples(100)
@given(st.lists(st.integers(0, 6), max_size=8), st.integers(0, 8))
def test_bincount_is_numpys(values, minlength):
    array = np.array(values, np.int64)
    weights = np.linspace(0, 1, len(values))
    np.testing.assert_array_equal(
        flow.bincount(flow.tensor(array), minlength=minlength).data, np.bincount(array, minlength=minlength)
    )
    found = flow.bincount(flow.tensor(array), flow.tensor(weights), minlength)
    np.testing.assert_allclose(found.data, np.bincount(array, weights, minlength))
    assert flow.bincount(flow.tensor(array), flow.tensor(weights.astype(F32))).dtype is F32


@examples(100)
@given(st.lists(st.integers(-8, 8), max_size=12), st.integers(1, 5), st.booleans())
def test_histograms_are_numpys(values, bins, density):
    array = np.array(values, F64) / 4
    x = flow.from_numpy(array)
    hist, edges = flow.histogram(x, bins, range=(-1.0, 1.5))
    expected = np.histogram(array, bins, (-1.0, 1.5))
    np.testing.assert_array_equal(hist.data, expected[0])
    np.testing.assert_allclose(edges.data, expected[1])
    np.testing.assert_array_equal(flow.histc(x, bins, -1.0, 1.5).data, expected[0])
    given_edges = np.array([-1.0, -0.25, 0, 2])
    weights = np.arange(len(values)) + 1.0
    hist, _ = flow.histogram(x, flow.from_numpy(given_edges), weight=flow.from_numpy(weights), density=density)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(hist.data, np.histogram(array, given_edges, weights=weights, density=density)[0])
    points = np.stack([array, array[::-1]], -1)
    hist, edges = flow.histogramdd(flow.from_numpy(points), (bins, 2), range=(-1.0, 1.0, -2.0, 2.0), density=density)
    with np.errstate(all="ignore"):
        expected = np.histogramdd(points, (bins, 2), ((-1, 1), (-2, 2)), density=density)
    np.testing.assert_allclose(hist.data, expected[0])
    assert [e.shape for e in edges] == [(bins + 1,), (3,)]


def test_a_histogram_without_a_range_takes_the_elements():
    x = flow.tensor([0.0, 1.0, 2.0, 4.0])
    assert flow.histc(x, 4).tolist() == [1, 1, 1, 1]
    assert flow.histogram(x, 2)[1].tolist() == [0, 2, 4]
    assert flow.histc(flow.ones(3), 2).tolist() == [0, 3]
    assert flow.histogramdd(flow.ones(3, 2), 1)[0].tolist() == [[3]]
    assert flow.histc(flow.tensor([np.nan, 0.5]), 1, 0, 1).tolist() == [1]


@examples(100)
@given(st.lists(st.integers(-3, 3), max_size=6), shapes, st.booleans(), st.sampled_from([F32, I64]), seeds)
def test_searches_are_numpys(table, shape, right, dtype, seed):
    table, values = np.sort(np.array(table, dtype)), drawn(shape, dtype, seed)
    expected = np.searchsorted(table, values, "right" if right else "left")
    ours = flow.from_numpy(table), flow.from_numpy(values)
    np.testing.assert_array_equal(flow.searchsorted(*ours, right=right).data, expected)
    np.testing.assert_array_equal(flow.bucketize(ours[1], ours[0], right=right).data, expected)
    order = np.random.default_rng(seed).permutation(len(table))
    mixed = np.empty_like(table)
    mixed[order] = table
    found = flow.searchsorted(
        flow.from_numpy(mixed),
        ours[1],
        side="right" if right else "left",
        sorter=flow.from_numpy(order),
        out_int32=True,
    )
    np.testing.assert_array_equal(found.data, expected)
    assert found.dtype is flow.int32
    np.testing.assert_array_equal(flow.isin(ours[1], ours[0]).data, np.isin(values, table))
    np.testing.assert_array_equal(flow.isin(ours[1], ours[0], invert=True).data, ~np.isin(values, table))


def test_rows_are_searched_in_rows():
    table, values = flow.tensor([[1, 3, 5], [2, 4, 6]]), flow.tensor([[3, 9], [3, 0]])
    assert flow.searchsorted(table, values).tolist() == [[1, 3], [1, 0]]
    assert flow.searchsorted(table[0], 4).item() == 2
    assert flow.bucketize(2.0, flow.tensor([1.0, 3.0])).item() == 1
    assert flow.isin(3, table).item() is True
    assert flow.isin(flow.tensor([0, 1], dtype=flow.uint8), 256).tolist() == [False, False]
    assert flow.isin(flow.tensor([0.1, 0.2]), 0.1).tolist() == [True, False]
    assert flow.isin(flow.tensor([1, 2], dtype=flow.bfloat16), flow.tensor([2])).tolist() == [False, True]
    assert flow.isin(table, 3).tolist()[0] == [False, True, False]


def test_classes_become_ones_and_places_coordinates():
    assert flow.one_hot(flow.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert flow.one_hot(flow.tensor([[1]]), 4).tolist() == [[[0, 1, 0, 0]]]
    assert flow.one_hot(flow.zeros(0, dtype=I64), 2).shape == (0, 2)
    rows, columns = flow.unravel_index(flow.tensor([[4], [11]]), (3, 4))
    assert rows.tolist() == [[1], [2]]
    assert columns.tolist() == [[0], [3]]
    assert flow.unravel_index(flow.tensor(5), 9)[0].item() == 5


def test_segments_are_reduced():
    x = flow.tensor([[1.0, 2], [3, 4], [5, 6]])
    lengths = flow.tensor([2, 0, 1])
    assert flow._segment_reduce(x, "sum", lengths=lengths).tolist() == [[4, 6], [0, 0], [5, 6]]
    assert flow._segment_reduce(x, "max", offsets=flow.tensor([0, 2, 2, 3]), initial=4).tolist() == [
        [4, 4],
        [4, 4],
        [5, 6],
    ]
    assert flow._segment_reduce(x, "prod", lengths=flow.tensor([[1, 1]] * 3), axis=1).tolist() == x.tolist()
    assert np.isnan(flow._segment_reduce(x, "mean", lengths=lengths).data[1]).all()
    assert flow._segment_reduce(x, "min", lengths=lengths).data[1].tolist() == [np.inf] * 2
    with pytest.raises(ValueError, match="do not add up to the size 3"):
        flow._segment_reduce(x, "sum", lengths=flow.tensor([1, 1]))


V, IDS = flow.tensor([1.0, 2.0]), flow.tensor([1, 2])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: flow.masked_select(V, IDS), TypeError, "masked_select: mask is .* of bools"),
        (lambda: flow.masked_fill(IDS, IDS > 1, 1j), TypeError, "masked_fill"),
        (lambda: flow.masked_scatter(V, V > 0, V[:1]), ValueError, "fewer elements than the mask has places, 2"),
        (lambda: flow.masked_scatter(V, V > 0, IDS), TypeError, "masked_scatter: source"),
        (lambda: flow.where(V > 1, V), TypeError, "where: give both"),
        (lambda: flow.unravel_index(IDS, (2,)), ValueError, "out of range for shape"),
        (lambda: flow.unravel_index(V, (2,)), TypeError, "of integers"),
        (lambda: flow.one_hot(V), TypeError, "one_hot: classes"),
        (lambda: flow.one_hot(IDS, 2), ValueError, r"not all in \[0, 2\)"),
        (lambda: flow.one_hot(IDS[:0]), ValueError, "num_classes must be given"),
        (lambda: flow.bincount(V), TypeError, "bincount: .* integer type"),
        (lambda: flow.bincount(-IDS), ValueError, "without negative"),
        (lambda: flow.bincount(IDS, V[:1]), ValueError, "bincount: weights"),
        (lambda: flow.histc(V, 0), ValueError, "histc: bins is 0"),
        (lambda: flow.histc(V, 2, 3, 1), ValueError, "is empty"),
        (lambda: flow.histogram(IDS, 2), TypeError, "float32 or float64"),
        (lambda: flow.histogram(V, 2, range=(1.0, 0.0)), ValueError, "histogram: the range"),
        (lambda: flow.histogramdd(V, 2), ValueError, "two dims at least"),
        (lambda: flow.histogramdd(flow.ones(2, 2), (1,)), ValueError, "1 bins given for 2"),
        (lambda: flow.searchsorted(V, IDS), TypeError, "searchsorted: input"),
        (lambda: flow.searchsorted(V, V, side="left", right=True), ValueError, "contradict"),
        (lambda: flow.searchsorted(flow.ones(2, 3), V), ValueError, "leading dims"),
        (lambda: flow.searchsorted(V, V, sorter=IDS), IndexError, "sorter"),
        (lambda: flow.bucketize(V, flow.ones(1, 1)), ValueError, "bucketize: boundaries"),
        (lambda: flow.bucketize(IDS, V), TypeError, "bucketize: input"),
        (lambda: flow._segment_reduce(IDS, "sum", lengths=IDS), TypeError, "not of a float type"),
        (lambda: flow.nonzero_static(IDS, size=-1), ValueError, "nonzero_static: size is -1"),
        (lambda: flow.take_along_dim(V, [0]), TypeError, "take_along_dim: indices is a list"),
        (lambda: flow.take(V, 0), TypeError, "take: index is a int"),
        (lambda: flow.masked_scatter(V, V > 0, 1.0), TypeError, "masked_scatter: source is a float"),
        (lambda: flow.isin(1, 2), TypeError, "must be a tensor"),
    ],
)
def test_what_is_wrong_is_said(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(("values", "minlength"), [([2**63 - 1], 0), ([0], 2**62)])
def test_bincount_refuses_what_no_memory_holds(values, minlength):
    with pytest.raises(ValueError, match="bins, which no memory holds"):
        flow.bincount(flow.tensor(values), minlength=minlength)
