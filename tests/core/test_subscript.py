"""x[index] and x[index] = value are numpy's for lists, arrays, tensors and masks too, but that ints act before them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import examples

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
ids = st.lists(st.integers(-2, 1), max_size=3) | st.lists(
    st.lists(st.integers(-2, 1), min_size=2, max_size=2), max_size=2
)
kinds = st.sampled_from(["list", "array", "tensor", "int32", "uint8"])
basic = st.sampled_from([slice(None), slice(1, None), slice(None, None, -1), None, ..., slice(0, 0)])


def as_kind(value, kind):
    """(the index for flow, the index for numpy) of nested lists."""
    array = np.array(value, np.int64)
    if kind == "uint8":
        array = abs(array) % 2
    if kind == "list":
        return value, array
    return (array if kind == "array" else flow.tensor(array if kind == "tensor" else array.astype(kind))), array


@st.composite
def indices(draw):
    """Pairs of an index for flow and one for numpy: slices, None, ..., and one to three index arrays that broadcast."""
    shared = draw(ids)
    ours, theirs = [], []
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            mine, other = as_kind(shared if draw(st.booleans()) else [draw(st.integers(-2, 1))], draw(kinds))
        else:
            mine = other = draw(basic)
        ours.append(mine)
        theirs.append(other)
    return tuple(ours), tuple(theirs)


@examples(400)
@given(indices())
def test_index_arrays_take_what_numpy_takes(pair):
    mine, theirs = pair
    try:
        expected = X[theirs]
    except IndexError:
        with pytest.raises(IndexError):
            flow.from_numpy(X)[mine]
        return
    out = flow.from_numpy(X)[mine]
    assert out.shape == expected.shape
    np.testing.assert_array_equal(out.data, expected)


@examples(200)
@given(indices(), st.integers(0, 2**32 - 1))
def test_an_assignment_writes_where_the_index_reads(pair, seed):
    mine, theirs = pair
    try:
        shape = X[theirs].shape
    except IndexError:
        return
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    x, expected = flow.tensor(X), X.copy()
    for value in (values, 2.5):
        x[mine] = flow.from_numpy(value) if isinstance(value, np.ndarray) else value
        expected[theirs] = value
        np.testing.assert_array_equal(x.data, expected)


@examples(100)
@given(st.lists(st.booleans(), min_size=6, max_size=6), st.sampled_from([None, ..., slice(1, 3), [0], [-1]]))
def test_a_mask_takes_the_places_where_it_holds(flags, after):
    mask = np.array(flags).reshape(2, 3)
    others = () if after is None else (after,)
    if after in ([0], [-1]) and mask.sum() == 0:
        others = ()
    np.testing.assert_array_equal(flow.from_numpy(X)[flow.tensor(mask), *others].data, X[(mask, *others)])
    np.testing.assert_array_equal(flow.from_numpy(X)[:, mask[0]].data, X[:, mask[0]])
    x, expected = flow.tensor(X), X.copy()
    x[flow.tensor(mask)] = 7
    expected[mask] = 7
    np.testing.assert_array_equal(x.data, expected)


def test_an_int_takes_its_dim_away_before_the_index_tensors_act():
    assert flow.from_numpy(X)[0, :, [0, 1]].shape == (3, 2)  # numpy, for which 0 is an index array too, has (2, 3)
    assert flow.from_numpy(X)[flow.tensor(1), :, [0, 1]].tolist() == X[1][:, [0, 1]].tolist()


def test_a_bool_is_a_new_dim_with_all_or_nothing():
    x = flow.from_numpy(X)
    assert x[True].shape == (1, 2, 3, 4)
    assert x[False].shape == (0, 2, 3, 4)
    assert x[flow.tensor(True)].shape == (1, 2, 3, 4)
    assert flow.tensor(3.0)[flow.tensor(True)].tolist() == [3.0]


def test_a_list_of_tensors_is_an_index():
    x = flow.from_numpy(X)
    assert x[:, [flow.tensor(0), flow.tensor(2)]].tolist() == X[:, [0, 2]].tolist()
    assert x[:, np.int64(1)].tolist() == X[:, 1].tolist()
    assert x[range(1)].tolist() == X[[0]].tolist()


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ([0, 2], "index 2 is out of range for dim 0 of size 2"),
        ((slice(None), [-4]), "index -4 is out of range for dim 1 of size 3"),
        ([0.5], "expected ints or bools"),
        ([[0], [0, 1]], "ragged"),
        (flow.tensor([1.0]), "expected integers or bools"),
        ((0, 0, 0, [0]), "4 dims is too much"),
        (([0, 1], [0, 1, 2]), "do not broadcast"),
        ((..., [0], ...), "one '...' only"),
        (np.ones((3, 2), bool), "does not have the shape of dims 0 to 1"),
        ("a", "index of str"),
        ({}, "index of dict"),
    ],
)
def test_a_wrong_index_is_an_index_error_and_nothing_is_written(index, said):
    x = flow.tensor(X)
    with pytest.raises(IndexError, match=said):
        x[index]
    with pytest.raises(IndexError, match=said):
        x[index] = 1.0
    assert x.version == 0


def test_values_are_cast_and_broadcast():
    x = flow.zeros(2, 3, dtype=flow.int64)
    x[0] = 1.75
    x[1, 1:] = flow.tensor([[2.0, 3.0]])  # leading dims of size 1 fall away
    x[:, 0] = [5, 6]
    assert x.tolist() == [[5, 1, 1], [6, 2, 3]]
    x[...] = True
    assert x.tolist() == [[1, 1, 1]] * 2
    x[[1, 0], [0, 2]] = np.array([8, 9])
    assert x.tolist() == [[1, 1, 9], [8, 1, 1]]
    y = flow.tensor(1.0)
    y[()] = 4
    y[None, True] = y * 2
    assert y.item() == 8


def test_wrong_values_are_refused():
    x = flow.zeros(2, 3)
    with pytest.raises(ValueError, match="broadcast"):
        x[0] = flow.ones(2)
    with pytest.raises(ValueError, match="broadcast"):
        x[[0, 1]] = flow.ones(3, 3)
    with pytest.raises(TypeError, match="complex"):
        x[0] = 1j
    with pytest.raises(TypeError, match="real part"):
        x[0] = flow.tensor([1j])
    assert x.tolist() == [[0] * 3] * 2


def test_a_view_that_is_written_is_the_tensor():
    x = flow.zeros(3, 4)
    x[1:, 0][flow.tensor([1])] = 5.0
    assert x[2, 0].item() == 5
    assert x.version == 1
