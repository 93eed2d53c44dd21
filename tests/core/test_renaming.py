"""In-place methods change the tensor that they are called on, and the memory of its views where they write elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import examples

X = np.arange(12.0).reshape(3, 4)
WRITE = {
    "tril_": (lambda x: x.tril_(-1), lambda a: np.tril(a, -1)),
    "triu_": (lambda x: x.triu_(), np.triu),
    "zero_": (lambda x: x.zero_(), lambda a: a * 0),
    "fill_": (lambda x: x.fill_(2), lambda a: a * 0 + 2),
    "conj_physical_": (lambda x: x.conj_physical_(), np.conj),
    "fill_diagonal_": (lambda x: x.fill_diagonal_(7), lambda a: np.where(np.eye(*a.shape), 7, a)),
}
SHOW = {
    "t_": (lambda x: x.t_(), np.transpose),
    "transpose_": (lambda x: x.transpose_(0, -1), np.transpose),
    "swapaxes_": (lambda x: x.swapaxes_(0, 1), np.transpose),
    "swapdims_": (lambda x: x.swapdims_(0, 1), np.transpose),
    "unsqueeze_": (lambda x: x.unsqueeze_(1), lambda a: a[:, None]),
    "squeeze_": (lambda x: x.unsqueeze_(0).squeeze_(), lambda a: a),
    "as_strided_": (lambda x: x.as_strided_((2,), (5,), 1), lambda a: a.reshape(-1)[[1, 6]]),
    "resize_": (lambda x: x.resize_(2, 2), lambda a: a.reshape(-1)[:4].reshape(2, 2)),
}


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("dtype", [flow.float32, flow.complex64, flow.int16], ids=str)
def test_elements_are_written_and_views_see_them(name, dtype):
    write, reference = WRITE[name]
    x = flow.tensor(X, dtype=dtype)
    base = x.reshape(12)
    version = x.version
    assert write(x) is x
    np.testing.assert_array_equal(x.numpy(), reference(X))
    np.testing.assert_array_equal(base.numpy().reshape(3, 4), reference(X))
    assert x.version > version


@pytest.mark.parametrize("name", SHOW)
def test_dims_are_renamed_in_the_same_memory(name):
    show, reference = SHOW[name]
    x = flow.tensor(X)
    memory = x.data
    assert show(x) is x
    assert x.shape == reference(X).shape
    np.testing.assert_array_equal(x.numpy(), reference(X))
    assert np.shares_memory(x.numpy(), memory)
    with pytest.raises(ValueError, match=f"{name}|requires grad"):
        show(flow.tensor(X, requires_grad=True))


@examples(40)
@given(st.integers(0, 7), st.integers(1, 4), st.booleans())
def test_diagonals_are_filled_where_numpy_fills_them(rows, columns, wrap):
    a = np.zeros((rows, columns))
    if rows:
        np.fill_diagonal(a, 1, wrap=wrap)
    np.testing.assert_array_equal(flow.zeros(rows, columns).fill_diagonal_(1, wrap).numpy(), a)


def test_the_diagonal_of_a_cube_is_its_longest():
    x = flow.zeros(3, 3, 3, 3).fill_diagonal_(2)
    assert np.argwhere(x.numpy()).tolist() == [[i] * 4 for i in range(3)]
    for shape in ((3,), (2, 3, 3)):
        with pytest.raises(ValueError, match="fill_diagonal_"):
            flow.zeros(shape).fill_diagonal_(1)


def test_memory_can_be_read_as_another_dtype():
    x = flow.tensor([[1.0, -2.0], [0.0, 3.0]])
    bits = x.view(flow.int32)
    assert bits.tolist() == x.numpy().view(np.int32).tolist()
    assert np.shares_memory(bits.numpy(), x.numpy())
    assert x.view(dtype=flow.int64).shape == (2, 1)
    assert x.view(flow.bfloat16).shape == (2, 4)
    assert x.view(-1).shape == x.view((4,)).shape == (4,)
    for call in (
        lambda: flow.ones(3).view(flow.int64),
        lambda: flow.tensor(1.0).view(flow.int16),
        lambda: x.T.view(flow.int16),
        lambda: flow.ones(2, requires_grad=True).view(flow.int32),
    ):
        with pytest.raises(ValueError, match="view"):
            call()


def test_a_tensor_is_cut_off_the_graph_in_place():
    x = flow.ones(2)
    assert x.detach_() is x
    assert flow.clone(x) is not x
    assert np.shares_memory(flow.detach(x).numpy(), x.numpy())
    assert x.cpu() is x
    assert x.data_ptr() == x.numpy().ctypes.data
    assert 1.0 in x
    assert 2 not in x
    assert complex(flow.tensor(2.5)) == 2.5 + 0j


def test_dims_are_turned_one_by_one_or_all_together():
    x = flow.tensor(X)
    for out in (x.flip(0, 1), x.flip((0, 1)), flow.flip(x, dims=[0, 1])):
        np.testing.assert_array_equal(out.numpy(), X[::-1, ::-1])
    assert flow.ones(2, 3, 4).T.shape == (4, 3, 2)
    assert flow.ones(2).T.shape == (2,)
    with pytest.raises(TypeError, match="flip"):
        flow.flip(x)
