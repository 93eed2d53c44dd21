"""Elements taken from and put to the places that index tensors name, against loops of numpy."""

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.testing import calls, examples

F32, F64, I64 = flow.float32, flow.float64, flow.int64


def indexed(shape, ids, dims):
    index = [slice(None)] * len(shape)
    for i, d in zip(ids, dims, strict=True):
        index[d] = i.astype(int)
    return tuple(index)


def at(x, *ids, dims):
    return x[indexed(x.shape, ids, dims)]


def add_to(g, *ids, dims, shape):
    out = np.zeros(shape, g.dtype)
    np.add.at(out, indexed(shape, ids, dims), g)
    return out


def put_at(x, src, *ids, dims):
    out = x.copy()
    out[indexed(x.shape, ids, dims)] = src
    return out


COMBINE = {None: lambda a, b: b, "sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def along(x, src, index, dim, reduce=None):
    out = np.array(x)
    for place in np.ndindex(index.shape):
        to = list(place)
        to[dim : dim + 1 or None] = [index[place]] if to else []
        out[tuple(to)] = COMBINE[reduce](out[tuple(to)], src[place])
    return out


REFERENCE = {"at": at, "add_to": add_to, "put_at": put_at, "put_along": along, "combine_along": along}


@pytest.mark.parametrize("name", sorted(REFERENCE))
@pytest.mark.parametrize("dtype", [F32, F64, I64], ids=str)
def test_an_op_equals_plain_numpy(name, dtype):
    @examples(60)
    @given(calls(name, (dtype, flow.uint8, flow.int32) if dtype is I64 else (dtype,)))
    def law(call):
        (out,) = call.run()
        expected = REFERENCE[name](*call.args, **call.attrs)
        assert out.shape == expected.shape
        np.testing.assert_allclose(out.data, expected, rtol=1e-6)

    law()


@examples(60)
@given(calls("put_at_", (F32, F64, I64)))
def test_put_at_in_place_is_put_at(call):
    x, src, *ids = call.tensors()
    expected = flow.OPS["put_at"](x, src, *ids, **call.attrs)
    flow.OPS["put_at_"](x, src, *ids, **call.attrs)
    np.testing.assert_array_equal(x.data, expected.data)
    assert x.version == 1


@examples(100)
@given(calls("combine_along", (F64,)))
def test_scatter_and_its_kin_are_the_ops_along_a_dim(call):
    (x, src, index), dim = call.tensors(), call.attrs["dim"]
    arrays = [np.array(a) for a in call.args]
    at = dim % max(x.ndim, 1)
    same = np.testing.assert_allclose
    same(flow.scatter(x, dim, index, src).data, along(*arrays, at))
    same(flow.scatter(x, dim, index, 2.5).data, along(arrays[0], np.full(src.shape, 2.5), arrays[2], at))
    same(
        flow.scatter(x, dim, index, value=2.5, reduce="add").data,
        along(arrays[0], np.full(src.shape, 2.5), arrays[2], at, "sum"),
    )
    same(flow.scatter(x, dim, index, src, reduce="multiply").data, along(*arrays, at, "prod"))
    same(flow.scatter_add(x, dim, index, src).data, along(*arrays, at, "sum"))
    count = along(np.ones(x.shape), np.ones(src.shape), arrays[2], at, "sum")
    same(flow.scatter_reduce(x, dim, index, src, "mean").data, along(*arrays, at, "sum") / count)
    for reduce, start in (("sum", 0), ("prod", 1), ("amax", -np.inf), ("amin", np.inf), ("mean", 0)):
        begun = np.where(count > 1, start, arrays[0])
        expected = along(begun, *arrays[1:], at, "sum" if reduce == "mean" else reduce)
        if reduce == "mean":
            expected = expected / np.maximum(count - 1, 1)
        same(flow.scatter_reduce(x, dim, index, src, reduce, include_self=False).data, expected)
        if reduce != "sum":
            assert flow.scatter_reduce(x, dim, index, src, reduce).shape == x.shape


X = flow.from_numpy(np.arange(12.0).reshape(3, 4))
IDS = flow.tensor([2, 0])


def test_index_ops_take_slices():
    a, rows = X.data, np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    src = flow.from_numpy(rows)
    assert flow.index_select(X, 0, IDS).tolist() == a[[2, 0]].tolist()
    assert flow.index_select(X, -1, IDS).tolist() == a[:, [2, 0]].tolist()
    for function, expected in (
        (flow.index_add, [a[0] + rows[1], a[1], a[2] + rows[0]]),
        (lambda *args: flow.index_add(*args, alpha=-2), [a[0] - 2 * rows[1], a[1], a[2] - 2 * rows[0]]),
        (flow.index_copy, [rows[1], a[1], rows[0]]),
        (lambda *args: flow.index_reduce(*args, "amax"), [np.maximum(a[0], rows[1]), a[1], a[2]]),
        (lambda *args: flow.index_reduce(*args, "prod", include_self=False), [rows[1], a[1], rows[0]]),
        (lambda *args: flow.index_reduce(*args, "mean"), [(a[0] + rows[1]) / 2, a[1], (a[2] + rows[0]) / 2]),
    ):
        np.testing.assert_array_equal(function(X, 0, IDS, src).data, expected)
    assert flow.index_fill(X, 1, flow.tensor([-1]), 9)[:, 3].tolist() == [9] * 3
    assert flow.index_fill(X, 1, flow.tensor(0), flow.tensor(9.0))[:, 0].tolist() == [9] * 3


def test_index_put_writes_or_adds():
    ids = (flow.tensor([0, 0]), flow.tensor([1, 1]))
    values = flow.tensor([5.0, 6.0], dtype=F64)
    assert flow.index_put(X, ids, values)[0, 1].item() == 6
    assert flow.index_put(X, ids, values, accumulate=True)[0, 1].item() == 12
    assert flow.index_put(X, (None, flow.tensor([3])), values[:1])[:, 3].tolist() == [5] * 3
    assert flow.index_put(X, (X > 10,), values[0])[2].tolist() == [8, 9, 10, 5]
    assert flow.index_put(X, (flow.tensor(1),), values[0])[1].tolist() == [5] * 4


def test_take_and_put_count_in_the_flattened_tensor():
    at = flow.tensor([[0, -1], [5, 5]])
    assert X.take(at).tolist() == [[0, 11], [5, 5]]
    src = flow.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=F64)
    assert X.put(at, src).data.flat[5] == 4
    assert X.put(at, src, accumulate=True).data.flat[5] == 12
    assert flow.take_along_dim(X, flow.tensor([[-1], [0], [1]]), 1).tolist() == [[3], [4], [9]]
    assert flow.take_along_dim(X, flow.tensor([[1]]), 0).tolist() == [[4, 5, 6, 7]]
    assert flow.take_along_dim(X, flow.tensor([7, 1])).tolist() == [7, 1]


def test_gather_takes_0_d_and_empty_indices():
    x = flow.tensor([1.0, 2.0])
    assert flow.gather(x, 0, flow.tensor(1)).tolist() == 2.0
    assert flow.gather(flow.tensor(3.0), 0, flow.tensor([0])).tolist() == [3.0]
    assert flow.gather(x, 0, flow.zeros(2, 0, dtype=I64)).shape == (2, 0)


def test_select_and_slice_scatter_replace_a_part():
    assert flow.select_scatter(X, flow.ones(3), 1, -1)[:, 3].tolist() == [1] * 3
    assert flow.slice_scatter(X, flow.ones(3, 2), 1, 0, 4, 2).data[:, ::2].tolist() == [[1, 1]] * 3
    assert flow.slice_scatter(X, flow.ones(1, 4), start=2).data[2].tolist() == [1] * 4
    with pytest.raises(ValueError, match=r"slice_scatter: source .* must have the shape \(3, 2\)"):
        flow.slice_scatter(X, flow.ones(3, 3), 1, 0, 2)
    with pytest.raises(IndexError, match="select_scatter: index 4"):
        flow.select_scatter(X, flow.ones(3), 1, 4)


def test_masked_indices_may_be_out_of_range_where_the_mask_is_not():
    mask, ids = flow.tensor([True, False]), [flow.tensor([1, 70]), flow.tensor([2, -90])]
    assert flow._unsafe_masked_index(X, mask, ids, -1).tolist() == [6, -1]
    out = flow._unsafe_masked_index_put_accumulate(X, mask, ids, flow.tensor([10.0, 20.0], dtype=F64))
    assert (out - X).sum().item() == 10
    assert out[1, 2].item() == 16


WRITERS = """scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce index_put put masked_fill
masked_scatter""".split()


@pytest.mark.parametrize("name", WRITERS)
def test_an_in_place_variant_writes_what_the_function_returns(name):
    src, index = X[:1] * 2 + 1, flow.tensor([[1, 0, 2, 1]])
    args = {
        "index_add": (0, IDS, X[:2]),
        "index_copy": (0, IDS, X[:2]),
        "index_fill": (0, IDS, 3),
        "index_reduce": (0, IDS, X[:2], "amin"),
        "index_put": ((IDS,), X[:2], True),
        "put": (IDS, X[0, :2]),
        "masked_fill": (X > 3, 2),
        "masked_scatter": (X > 3, X),
        "scatter_reduce": (0, index, src, "prod"),
    }.get(name, (0, index, src))
    expected = getattr(X, name)(*args)
    x = X.clone()
    assert getattr(x, f"{name}_")(*args) is x
    np.testing.assert_array_equal(x.data, expected.data)
    assert x.version == 1


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: X.gather(0, flow.tensor([[3]])), IndexError, "gather: index 3 is out of range"),
        (lambda: X.gather(0, flow.tensor([[-1]])), IndexError, "gather: index -1"),
        (lambda: X.gather(0, flow.tensor([0])), ValueError, "gather: index .* as many dims"),
        (lambda: X.gather(0, flow.tensor([[0.0]])), TypeError, "gather: index is f32"),
        (lambda: X.gather(2, flow.tensor([[0]])), ValueError, "gather: dim 2"),
        (lambda: X.scatter(0, flow.tensor([[9]]), 1.0), IndexError, "index 9"),
        (lambda: X.scatter(0, flow.tensor([[0]]), flow.ones(1, 1)), TypeError, "source .* must have the dtype"),
        (lambda: X.scatter(0, flow.tensor([[0, 1]]), X[:1, :1]), ValueError, "larger than source"),
        (lambda: X.scatter(0, flow.tensor([[0]])), TypeError, "give src"),
        (lambda: X.scatter(0, flow.tensor([[0]]), 1, reduce="min"), ValueError, "reduce is 'min'"),
        (lambda: X.scatter(0, flow.tensor([[0] * 5]), 1), ValueError, "larger than f64"),
        (lambda: X.scatter_reduce(0, flow.tensor([[0]]), X, "max"), ValueError, "scatter_reduce: reduce is 'max'"),
        (lambda: X.index_select(0, flow.tensor([3])), IndexError, "index_select: index 3"),
        (lambda: X.index_select(0, flow.tensor([[0]])), ValueError, "one dim at most"),
        (lambda: X.index_add(0, IDS, X), ValueError, r"index_add: source .* \(2, 4\)"),
        (lambda: X.index_add(0, IDS, X[:2], alpha=1j), TypeError, "alpha"),
        (lambda: X.index_copy(0, flow.tensor([-1]), X[:1]), IndexError, "index_copy: index -1"),
        (lambda: X.index_reduce(0, IDS, X[:2], "sum"), ValueError, "index_reduce: reduce is 'sum'"),
        (lambda: X.index_fill(0, IDS, flow.ones(2)), ValueError, "0-d"),
        (lambda: X.index_put((IDS, flow.tensor([0, 4])), X[0, :2]), IndexError, "index 4"),
        (lambda: X.index_put([0], X), TypeError, "index_put: indices must be"),
        (lambda: X.take(flow.tensor([12])), IndexError, "index 12"),
        (lambda: X.put(IDS, X), ValueError, "put: source"),
        (lambda: X.take_along_dim(IDS, 0), ValueError, "take_along_dim: indices"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_of_equal_places_the_last_value_stays_whatever_the_layout():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows, columns = rng.integers(0, 2, (2, 5, 4))
        values = rng.normal(size=(4, 5)).T
        expected = np.zeros((2, 2))
        for place in np.ndindex(5, 4):
            expected[rows[place], columns[place]] = values[place]
        ids = flow.from_numpy(np.asfortranarray(rows)), flow.from_numpy(columns[::-1][::-1])
        x = flow.zeros(2, 2, dtype=F64)
        np.testing.assert_array_equal(flow.index_put(x, ids, flow.from_numpy(values)).data, expected)
        x[ids] = flow.from_numpy(values)
        np.testing.assert_array_equal(x.data, expected)
