"""Tensors of foreign data, and copies and pickles of tensors."""

import array
import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.dtype import CATEGORIES

DTYPES = list(CATEGORIES)


@pytest.mark.parametrize("make", [flow.asarray, flow.as_tensor], ids=["asarray", "as_tensor"])
def test_memory_is_shared_where_it_can_be(make):
    a = np.arange(3.0)
    assert np.shares_memory(make(a).data, a)
    assert make(a).dtype is flow.float64
    assert not np.shares_memory(make(a, dtype=flow.float32).data, a)
    x = flow.ones(2)
    assert make(x) is x
    assert make(x, dtype="float64").dtype is flow.float64
    b = array.array("i", [1, 2])
    t = make(b)
    b[0] = 7
    assert t.tolist() == [7, 2]
    assert t.dtype is flow.int32
    assert make(bytearray(b"ab")).tolist() == [97, 98]


def test_numbers_and_sequences_take_the_default_dtypes():
    for obj, dtype in (
        (True, "bool"),
        (1, "int64"),
        (1.5, "float32"),
        (1j, "complex64"),
        ([1, 2.5], "float32"),
        ([], "float32"),
    ):
        assert flow.asarray(obj).dtype == dtype, obj
    assert flow.asarray([flow.tensor(1.0), 2]).tolist() == [1, 2]
    assert flow.asarray(np.float64(2)).dtype is flow.float64
    assert flow.asarray([[1], [2]], dtype=flow.uint8).spec is flow.TensorSpec((2, 1), flow.uint8)


def test_copy_true_copies_and_copy_false_refuses_to():
    for obj in (np.arange(3), flow.arange(3), array.array("q", [0, 1, 2])):
        memory = np.asarray(obj)
        assert np.shares_memory(flow.asarray(obj, copy=False).data, memory)
        assert not np.shares_memory(flow.asarray(obj, copy=True).data, memory)
        with pytest.raises(ValueError, match="copy=False forbids"):
            flow.asarray(obj, dtype="float32", copy=False)
    for obj in (1, [1, 2], np.int64(3)):
        with pytest.raises(ValueError, match="no memory to share"):
            flow.asarray(obj, copy=False)


def test_gradients_flow_through_as_tensor_and_a_leaf_is_made_on_request():
    x = flow.ones(2).requires_grad_()
    assert flow.as_tensor(x) is x
    y = flow.asarray(flow.ones(2), requires_grad=True)
    assert y.requires_grad
    assert y.is_leaf


@pytest.mark.parametrize(
    "obj", ["text", ["a"], object(), {1: 2}, np.array(["a"]), np.array([None]), [[1], [1, 2]]], ids=repr
)
def test_what_is_no_array_of_numbers_is_refused(obj):
    with pytest.raises((TypeError, ValueError), match=r"asarray|tensor"):
        flow.asarray(obj)


def test_numpy_takes_a_tensor_by_its_rules_of_copying():
    x = flow.arange(3)
    assert np.shares_memory(np.asarray(x), x.data)
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(x), x.data)
    assert np.shares_memory(np.array(x, copy=False), x.data)
    with pytest.raises(ValueError, match=r"[Uu]nable to avoid copy"):
        np.array(x, dtype=np.float32, copy=False)
    with pytest.raises(ValueError, match="requires grad"):
        np.asarray(flow.ones(2).requires_grad_())


def test_the_buffer_of_a_tensor_is_its_memory():
    x = flow.arange(6).reshape(2, 3)
    view = x.__buffer__(0)  # what memoryview(x) asks for from Python 3.12 on
    assert view.tolist() == x.tolist()
    view[0, 0] = 9
    assert x.tolist()[0][0] == 9
    assert memoryview(x.numpy()).nbytes == 48
    with pytest.raises(ValueError, match="requires grad"):
        flow.ones(2).requires_grad_().__buffer__(0)


@given(st.data())
def test_frombuffer_equals_numpys(data):
    dtype = data.draw(st.sampled_from([d for d in DTYPES if d is not flow.bfloat16]))
    raw = bytearray(data.draw(st.binary(min_size=1, max_size=40)))
    count, offset = data.draw(st.integers(-1, 4)), data.draw(st.integers(0, 40))
    try:
        expected = np.frombuffer(raw, dtype, count, offset)
    except ValueError:
        expected = None
    if expected is None or not expected.size or offset == len(raw):  # nothing to see: refused, as by PyTorch
        with pytest.raises(ValueError, match="frombuffer: "):
            flow.frombuffer(raw, dtype=dtype, count=count, offset=offset)
    else:
        t = flow.frombuffer(raw, dtype=dtype, count=count, offset=offset)
        assert t.data.tobytes() == expected.tobytes()
        assert np.shares_memory(t.data, expected)


def test_frombuffer_takes_bfloat16_and_keeps_read_only_memory_so():
    t = flow.frombuffer(bytes(np.array([1, 2], "float32").tobytes()[2:4]), dtype=flow.bfloat16)
    assert t.tolist() == [1.0]
    assert not t.data.flags.writeable
    assert flow.frombuffer(bytearray(8), dtype=flow.float32, requires_grad=True).requires_grad
    with pytest.raises(TypeError):
        flow.frombuffer(bytearray(8), dtype=flow.int32, requires_grad=True)
    with pytest.raises(ValueError, match="count is 0"):
        flow.frombuffer(bytearray(8), dtype=flow.int32, count=0)


COPIES = {
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_copied_tensor_is_equal_and_has_memory_of_its_own(how, dtype):
    x = flow.from_numpy(np.array([[0, 1], [1, 1]], dtype))
    y = COPIES[how](x)
    assert y.spec is x.spec
    assert y.tolist() == x.tolist()
    assert not np.shares_memory(y.data, x.data)
    (z,) = COPIES[how]([x])
    assert z.tolist() == x.tolist()


def test_a_deep_copy_keeps_what_a_leaf_carries_and_what_is_shared():
    x = flow.ones(2).requires_grad_()
    x.grad = flow.tensor([1.0, 2.0])
    x.is_parameter = True
    a, b = copy.deepcopy([x, x])
    assert a is b
    assert a.requires_grad
    assert a.grad.tolist() == [1, 2]
    assert a.grad is not x.grad
    assert a.is_parameter
    assert pickle.loads(pickle.dumps(x)).requires_grad


def test_a_recorded_result_is_not_copied_nor_pickled():
    x = flow.ones(2)
    x.grad_fn = object()  # as flow_autograd leaves it
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(ValueError, match=r"recorded op.*x\.detach\(\)"):
            copied(x)


def test_a_tensor_of_one_element_is_a_python_number():
    assert complex(flow.tensor([1 + 2j])) == 1 + 2j
    assert complex(flow.tensor(2)) == 2
    assert str(complex(flow.tensor(complex(1.5, -0.0)))) == "(1.5-0j)"
    assert (+flow.tensor([1, -2])).tolist() == [1, -2]
    assert flow.ones(2).to_device("cpu").tolist() == [1, 1]
    with pytest.raises(ValueError, match="cuda"):
        flow.ones(2).to_device("cuda")
    with pytest.raises(ValueError, match="stream"):
        flow.ones(2).to_device("cpu", stream=1)
