"""Diagonals, strides and grids: ops and functions equal their definitions by loops or numpy's, and refuse what does not fit."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import calls, examples

X = np.arange(24.0).reshape(2, 3, 4)
M = X[0]


def place_diagonal(v, shape, offset, dim1, dim2):
    out = np.zeros(shape)
    matrices = np.moveaxis(out, (dim1, dim2), (-2, -1))
    rows, columns = matrices.shape[-2:]
    for k, i in enumerate(range(max(-offset, 0), min(rows, columns - offset))):
        matrices[..., i, i + offset] = v[..., k]
    return out


def memory_places(size, stride, offset):
    places = np.zeros(size, int)
    for place in np.ndindex(size):
        places[place] = offset + sum(i * step for i, step in zip(place, stride, strict=True))
    return places


def add_strided(g, shape, size, stride, offset):
    out = np.zeros(math.prod(shape), g.dtype)
    for value, place in zip(g.reshape(-1), memory_places(size, stride, offset).reshape(-1), strict=True):
        out[place] += value
    return out.reshape(shape)


REFERENCE = {
    "diagonal": lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
    "place_diagonal": place_diagonal,
    "strided": lambda x, size, stride, offset: x.reshape(-1)[memory_places(size, stride, offset)],
    "add_strided": add_strided,
    "view_as_real": lambda x: np.stack([x.real, x.imag], -1),
    "view_as_complex": lambda x: x[..., 0] + 1j * x[..., 1],
}


@pytest.mark.parametrize("name", REFERENCE)
def test_an_op_equals_its_definition(name):
    @examples(60)
    @given(calls(name))
    def law(call):
        (out,) = call.run()
        expected = REFERENCE[name](*call.args, **call.attrs)
        assert out.shape == expected.shape
        np.testing.assert_array_equal(out.numpy().astype(expected.dtype), expected)

    law()


# function, numpy's, the arrays they take
CASES = {
    "diag of a vector": (lambda x: flow.diag(x, -1), lambda x: np.diag(x, -1), [M[0]]),
    "diag of a matrix": (lambda x: x.diag(1), lambda x: np.diag(x, 1), [M]),
    "diagflat": (lambda x: flow.diagflat(x, 2), lambda x: np.diagflat(x, 2), [M]),
    "diagonal": (lambda x: x.diagonal(1, -1, 0), lambda x: np.diagonal(x, 1, -1, 0), [X]),
    "diagonal outside": (lambda x: x.diagonal(9), lambda x: np.diagonal(x, 9), [X]),
    "tril": (lambda x: x.tril(-1), lambda x: np.tril(x, -1), [X]),
    "triu": (lambda x: x.triu(1), lambda x: np.triu(x, 1), [X]),
    "triu of bools": (flow.triu, lambda x: np.triu(x).astype(bool), [X > 3]),
    "tril of bytes": (flow.tril, np.tril, [X.astype(np.uint8)]),
    "unfold": (
        lambda x: x.unfold(1, 2, 1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1),
        [X],
    ),
    "unfold with steps": (
        lambda x: flow.unfold_copy(x, -1, 2, 2),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 2)[:, :, ::2],
        [X],
    ),
    "unfold of a number": (lambda x: x.unfold(0, 1, 1), lambda x: x.reshape(1), [X[0, 0, 0]]),
    "unfold of nothing": (lambda x: x.unfold(2, 0, 3), lambda x: np.zeros((2, 3, 2, 0)), [X]),
    "vander": (lambda x: flow.vander(x), np.vander, [M[0]]),
    "vander rising": (
        lambda x: flow.vander(x, 3, increasing=True),
        lambda x: np.vander(x, 3, increasing=True),
        [M[0]],
    ),
    "vander of no columns": (lambda x: flow.vander(x, 0), lambda x: np.vander(x, 0), [M[0]]),
    "cat with nothing": (
        lambda x, e: flow.cat([e, x, e, x], -1),
        lambda x, e: np.concatenate([x, x], -1),
        [X, M[0, :0]],
    ),
    "cat of nothings": (lambda e: flow.cat([e, e]), lambda e: e, [M[0, :0]]),
    "as_strided": (lambda x: x.as_strided((2, 2), (5, 3), 4), lambda x: np.array([[4.0, 7], [9, 12]]), [X]),
    "adjoint": (lambda x: x.mH, lambda x: x.conj().swapaxes(-1, -2), [X * 1j]),
    "H": (lambda x: x.H, lambda x: x.conj().T, [M * 1j]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_equals_numpy_s(name):
    function, reference, arrays = CASES[name]
    out = function(*[flow.from_numpy(np.asarray(a)) for a in arrays])
    expected = reference(*arrays)
    assert out.shape == expected.shape
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("offset", [-2, 0, 3])
@pytest.mark.parametrize(("dim1", "dim2"), [(-2, -1), (0, 2), (2, 0)])
def test_an_embedded_diagonal_is_the_diagonal_and_all_else_is_zero(offset, dim1, dim2):
    out = flow.diag_embed(flow.from_numpy(M + 1), offset, dim1, dim2)
    assert out.shape[dim1] == out.shape[dim2] == 4 + abs(offset)
    np.testing.assert_array_equal(out.diagonal(offset, dim1, dim2).numpy(), M + 1)
    assert out.count_nonzero().item() == M.size


def test_what_is_scattered_is_found_again_and_the_rest_stays():
    x = flow.from_numpy(X)
    src = flow.from_numpy(-np.ones((4, 2)))
    out = flow.diagonal_scatter(x, src, 0, 0, 1)
    np.testing.assert_array_equal(out.diagonal(0, 0, 1).numpy(), src.numpy())
    assert (out != x).sum().item() == 8
    nan = flow.diagonal_scatter(flow.full((2, 2), math.nan), flow.ones(2))
    assert nan.diag().tolist() == [1, 1]
    out = x.as_strided_scatter(flow.full((2, 2), -1.0), (2, 2), (4, 2), 1)
    assert sorted(np.flatnonzero(out.numpy() < 0)) == [1, 3, 5, 7]


def test_a_view_by_strides_reaches_all_the_memory_that_its_base_lies_in():
    x = flow.arange(12.0).reshape(3, 4)
    row = x[1]
    assert (row.storage_offset(), row.stride(), x.T.stride(), x.stride(0)) == (4, (1,), (1, 4), 4)
    assert row.as_strided((2,), (1,)).tolist() == [4, 5]
    assert row.as_strided((2,), (6,), 0).tolist() == [0, 6]
    assert x.T.as_strided((2, 2), (4, 1), 5).tolist() == [[5, 6], [9, 10]]
    x.as_strided((3,), (5,)).zero_()
    assert x.diag().tolist() == [0, 0, 0]
    assert flow.as_strided_copy(x, (2,), (2,)).zero_().sum().item() == 0
    assert x.sum().item() == 51


@pytest.mark.parametrize("with_replacement", [False, True])
@pytest.mark.parametrize("r", [0, 1, 2, 5])
def test_combinations_are_those_of_itertools(r, with_replacement):
    take = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    found = flow.combinations(flow.from_numpy(M[0]), r, with_replacement)
    expected = [list(c) for c in take(M[0], r)] if r else []
    assert found.tolist() == expected


def test_products_are_those_of_itertools():
    a, b = flow.tensor([1, 2, 3]), flow.tensor([4, 5])
    assert flow.cartesian_prod(a, b, a).tolist() == [list(p) for p in itertools.product([1, 2, 3], [4, 5], [1, 2, 3])]
    assert flow.cartesian_prod(a) is a


def test_blocks_lie_along_the_diagonal():
    blocks = [flow.tensor([[1.0, 2]]), flow.tensor(3), flow.tensor([4, 5, 6]), flow.zeros(0, 2)]
    assert flow.block_diag(*blocks).tolist() == [
        [1, 2, 0, 0, 0, 0, 0, 0],
        [0, 0, 3, 0, 0, 0, 0, 0],
        [0, 0, 0, 4, 5, 6, 0, 0],
    ]
    assert flow.block_diag().shape == (1, 0)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", [1, 0.5, (2.0, 0.25)])
def test_gradients_are_numpy_s(edge_order, spacing):
    array = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    steps = spacing if isinstance(spacing, tuple) else (spacing,)
    found = flow.gradient(flow.from_numpy(array), spacing=spacing, edge_order=edge_order)
    for a, b in zip(found, np.gradient(array, *steps, edge_order=edge_order), strict=True):
        np.testing.assert_allclose(a.numpy(), b, 1e-12, 1e-12)
    places = np.array([0.0, 0.5, 2.0])
    (found,) = flow.gradient(flow.from_numpy(array), spacing=(flow.tensor(places),), dim=1, edge_order=edge_order)
    np.testing.assert_allclose(found.numpy(), np.gradient(array, places, axis=1, edge_order=edge_order), 1e-12)


@examples(40)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6))
def test_the_places_of_triangles_are_numpy_s(rows, columns, offset):
    np.testing.assert_array_equal(
        flow.tril_indices(rows, columns, offset).numpy(), np.tril_indices(rows, offset, columns)
    )
    found = flow.triu_indices(rows, columns, offset, dtype=flow.int32)
    assert found.dtype is flow.int32
    np.testing.assert_array_equal(found.numpy(), np.triu_indices(rows, offset, columns))


COPIES = {
    "view_copy": lambda x: flow.view_copy(x, (6, 4)),
    "expand_copy": lambda x: flow.expand_copy(x, (2, 2, 3, 4)),
    "permute_copy": lambda x: flow.permute_copy(x, (2, 0, 1)),
    "transpose_copy": lambda x: flow.transpose_copy(x, 0, 1),
    "squeeze_copy": lambda x: flow.squeeze_copy(x),
    "unsqueeze_copy": lambda x: flow.unsqueeze_copy(x, 1),
    "select_copy": lambda x: flow.select_copy(x, 0, 1),
    "slice_copy": lambda x: flow.slice_copy(x, 1, 0, 2),
    "narrow_copy": lambda x: x.narrow_copy(1, 0, 2),
    "split_copy": lambda x: flow.split_copy(x, 2, 2)[1],
    "split_with_sizes_copy": lambda x: flow.split_with_sizes_copy(x, [1, 3], 2)[1],
    "unbind_copy": lambda x: flow.unbind_copy(x, 1)[2],
    "diagonal_copy": lambda x: flow.diagonal_copy(x, 1),
    "alias_copy": flow.alias_copy,
    "detach_copy": flow.detach_copy,
    "t_copy": lambda x: flow.t_copy(x[0]),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_memory_of_its_own(name):
    x = flow.from_numpy(X.copy())
    out = COPIES[name](x)
    assert not np.shares_memory(out.numpy(), x.numpy())
    out.zero_()
    np.testing.assert_array_equal(x.numpy(), X)


def test_resizing_keeps_the_memory_where_it_is_enough():
    x = flow.arange(6.0)
    same = x.reshape(2, 3)
    assert x.resize_(2, 2) is x
    assert x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_as_(same).tolist() == same.tolist()
    x.zero_()
    assert same.sum().item() == 0
    grown = flow.ones(2).resize_(4)
    assert grown.shape == (4,)
    assert grown.tolist()[:2] == [1, 1]
    with pytest.raises(ValueError, match="resize_"):
        flow.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: flow.diag(x), ValueError, "diag: "),
        (lambda x: x.diagonal(0, 1, 1), ValueError, "same dim"),
        (lambda x: x.diagonal(0, 1, 5), ValueError, "dim 5"),
        (lambda x: x.diagonal(0.5), TypeError, "offset"),
        (lambda x: flow.diag_embed(x, 0, 2, 2), ValueError, "same dim"),
        (lambda x: flow.diagonal_scatter(x, flow.ones(3)), ValueError, "place_diagonal"),
        (lambda x: x[0, 0].tril(), ValueError, "tril"),
        (lambda x: x.as_strided((2, 2), (200, 200)), ValueError, "lead to element"),
        (lambda x: x.as_strided((2,), (-1,)), ValueError, "negative"),
        (lambda x: x.as_strided((2, 2), (1,)), ValueError, "number of dims"),
        (lambda x: x.as_strided_scatter(flow.ones(2), (2, 2), (1, 1)), ValueError, "as_strided_scatter"),
        (lambda x: x.unfold(0, 3, 1), ValueError, "unfold: size 3"),
        (lambda x: x.unfold(0, 1, 0), ValueError, "unfold: step"),
        (lambda x: flow.cat([x, x[0]]), ValueError, "cat"),
        (lambda x: flow.roll(flow.tensor(1.0), 0, 0), IndexError, "roll"),
        (lambda x: flow.block_diag(x), ValueError, "block_diag"),
        (lambda x: flow.cartesian_prod(x), ValueError, "cartesian_prod"),
        (lambda x: flow.combinations(x), ValueError, "combinations"),
        (lambda x: flow.gradient(x, edge_order=3), ValueError, "edge_order"),
        (lambda x: flow.gradient(x, spacing=(1.0, 2.0)), ValueError, "spacings"),
        (lambda x: flow.gradient(x, edge_order=2), ValueError, "too few"),
        (lambda x: flow.gradient(x, dim=(1, 1)), ValueError, "twice"),
        (lambda x: x.H, ValueError, "H: "),
        (lambda x: flow.tril_indices(-1, 2), ValueError, "negative"),
        (lambda x: flow.slice_copy(x, 0, step=0), ValueError, "step"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call(flow.from_numpy(X))
