"""Tensors from sizes and numbers have the shape, dtype, elements and requires_grad that were asked for; and what tensors tell."""

import numpy as np
import pytest

import flow_core as flow

X = flow.tensor([[1, 2, 3]], dtype=flow.int16)
# call with requires_grad, shape, dtype by default
MADE = {
    "zeros": (lambda **k: flow.zeros(2, 3, **k), (2, 3), flow.float32),
    "zeros by name": (lambda **k: flow.zeros(size=(2, 3), **k), (2, 3), flow.float32),
    "ones": (lambda **k: flow.ones([2, 3], **k), (2, 3), flow.float32),
    "empty": (lambda **k: flow.empty((0, 3), **k), (0, 3), flow.float32),
    "empty_strided": (lambda **k: flow.empty_strided((2, 3), (1, 4), **k), (2, 3), flow.float32),
    "empty_permuted": (lambda **k: flow.empty_permuted((2, 3, 4), (2, 0, 1), **k), (2, 3, 4), flow.float32),
    "full": (lambda **k: flow.full((2,), 1.5, **k), (2,), flow.float32),
    "full of a tensor": (lambda **k: flow.full((2,), flow.tensor(2.0), **k), (2,), flow.float32),
    "eye": (lambda **k: flow.eye(2, 3, **k), (2, 3), flow.float32),
    "arange": (lambda **k: flow.arange(0.0, 1, 0.25, **k), (4,), flow.float32),
    "linspace": (lambda **k: flow.linspace(0, 1, 5, **k), (5,), flow.float32),
    "logspace": (lambda **k: flow.logspace(0, 1, 5, base=2, **k), (5,), flow.float32),
    "scalar_tensor": (lambda **k: flow.scalar_tensor(3, **k), (), flow.float32),
    "rand": (lambda **k: flow.rand(2, 3, **k), (2, 3), flow.float32),
    "randn": (lambda **k: flow.randn((2, 3), **k), (2, 3), flow.float32),
    "full_like": (lambda **k: flow.full_like(X.float(), 2, **k), (1, 3), flow.float32),
    "zeros_like": (lambda **k: flow.zeros_like(X.double(), **k), (1, 3), flow.float64),
    "ones_like": (lambda **k: flow.ones_like(X.half(), **k), (1, 3), flow.float16),
    "empty_like": (lambda **k: flow.empty_like(X.float(), **k), (1, 3), flow.float32),
    "rand_like": (lambda **k: flow.rand_like(X.double(), **k), (1, 3), flow.float64),
    "randn_like": (lambda **k: flow.randn_like(X.float(), **k), (1, 3), flow.float32),
    "new_zeros": (lambda **k: X.double().new_zeros(2, 3, **k), (2, 3), flow.float64),
    "new_ones": (lambda **k: X.double().new_ones((2, 3), **k), (2, 3), flow.float64),
    "new_empty": (lambda **k: X.double().new_empty((), **k), (), flow.float64),
    "new_full": (lambda **k: X.double().new_full((2,), 3, **k), (2,), flow.float64),
    "new_empty_strided": (lambda **k: X.double().new_empty_strided((2,), (3,), **k), (2,), flow.float64),
    "new_tensor": (lambda **k: X.double().new_tensor([1, 2], **k), (2,), flow.float64),
}


@pytest.mark.parametrize("name", MADE)
def test_a_tensor_is_made_as_asked(name):
    make, shape, dtype = MADE[name]
    x = make()
    assert (x.shape, x.dtype, x.requires_grad) == (shape, dtype, False)
    x = make(requires_grad=True, device="cpu")
    assert x.requires_grad
    assert x.is_leaf
    assert make(dtype=flow.bfloat16).dtype is flow.bfloat16
    with pytest.raises((TypeError, ValueError)):
        make(dtype=flow.int64, requires_grad=True)
    if name != "new_tensor":
        with pytest.raises(ValueError, match="cuda"):
            make(device="cuda")


def test_elements_are_those_asked_for():
    assert flow.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert X.new_full((2,), 1.9).tolist() == [1, 1]
    assert X.new_ones(2).dtype is flow.int16
    assert flow.full_like(X, 2.7).tolist() == [[2, 2, 2]]
    assert flow.scalar_tensor(2.5, dtype=flow.int64).item() == 2
    assert flow.full((1,), flow.tensor(3)).dtype is flow.int64
    assert flow.fill(X, 7).tolist() == [[7, 7, 7]]
    assert X.tolist() == [[1, 2, 3]]
    assert X.clone().fill_(flow.tensor(2.0)).tolist() == [[2, 2, 2]]
    assert X.clone().zero_().tolist() == [[0, 0, 0]]
    assert flow.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert flow.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)
    array = np.ones(2)
    assert np.shares_memory(flow.as_tensor(array).numpy(), array)
    assert flow.as_tensor(X) is X


def test_size_is_a_number_and_can_be_called():
    x = flow.zeros(2, 0, 3)
    assert (x.size, x.size(), x.size(0), x.size(-1)) == (0, (2, 0, 3), 2, 3)
    assert X.size == 3
    assert isinstance(X.size, int)
    assert X.size // 2 == 1
    assert flow.tensor(1.0).size() == ()
    for dim, error in ((3, ValueError), ("a", TypeError)):
        with pytest.raises(error, match="size"):
            x.size(dim)
    with pytest.raises(IndexError, match="0-d"):
        flow.tensor(1.0).size(0)


def test_a_tensor_tells_its_sizes_and_kinds():
    assert (X.numel(), X.nelement(), X.dim(), X.ndimension()) == (3, 3, 2, 2)
    assert (X.element_size(), X.itemsize, X.nbytes) == (2, 2, 6)
    assert (X.is_floating_point(), X.half().is_floating_point(), X.is_complex()) == (False, True, False)
    assert (X.is_signed(), X.bool().is_signed(), X.byte().is_signed()) == (True, False, False)
    assert X.is_same_size(flow.ones(1, 3))
    assert flow.is_tensor(X)
    assert not flow.is_tensor(X.numpy())
    assert flow.is_nonzero(flow.tensor(2))
    assert X.to(flow.ones(1)).dtype is flow.float32
    assert X.to(flow.int16) is X
    assert X.to(flow.int16, copy=True) is not X
    assert X.type_as(flow.tensor(1j)).dtype is flow.complex64


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: flow.zeros(2, -1), ValueError, "negative"),
        (lambda: flow.zeros(2, pin=True), TypeError, "pin"),
        (lambda: flow.zeros(2, pin_memory=True), ValueError, "pin_memory"),
        (lambda: flow.full((2,)), TypeError, "fill_value"),
        (lambda: flow.full(fill_value=2), TypeError, "size"),
        (lambda: flow.full((2,), flow.ones(2)), ValueError, "0-d"),
        (lambda: flow.eye(-1), ValueError, "eye"),
        (lambda: flow.eye(1.5), TypeError, "eye"),
        (lambda: flow.empty_permuted((2, 3), (0, 0)), ValueError, "empty_permuted"),
        (lambda: flow.empty_permuted((2,), (3,)), ValueError, "empty_permuted"),
        (lambda: flow.empty_strided((2,), (1, 1)), ValueError, "empty_strided"),
        (lambda: flow.empty_strided((2,), (-1,)), ValueError, "negative"),
        (lambda: flow.scalar_tensor(1j), TypeError, "complex"),
        (lambda: flow.fill(X, flow.ones(2)), ValueError, "fill"),
        (lambda: X.clone().fill_(flow.ones(2)), ValueError, "fill_"),
        (lambda: flow.full_like(X, 2**20), ValueError, "range"),
    ],
)
def test_what_cannot_be_made_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()
