"""What goes into a tensor and what comes out: numbers, lists, arrays, and how tensors are shown."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import DTYPES, Draw, examples

BF16 = ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, flow.int64, ()),
        (1.5, flow.float32, ()),
        (True, flow.bool, ()),
        (1j, flow.complex64, ()),
        ([1, 2], flow.int64, (2,)),
        ([1, 2.5], flow.float32, (2,)),
        ([True, False], flow.bool, (2,)),
        ([[1.0], [2.0]], flow.float32, (2, 1)),
        (((1, 2), (3, 4)), flow.int64, (2, 2)),
        (range(3), flow.int64, (3,)),
        ([], flow.float32, (0,)),
        ([[], []], flow.float32, (2, 0)),
        ([np.float64(1), np.float64(2)], flow.float32, (2,)),
        (np.float64(1), flow.float64, ()),
        (np.zeros((2, 0)), flow.float64, (2, 0)),
        (np.array(3, np.int8), flow.int8, ()),
        (np.array([1, 2], BF16), flow.bfloat16, (2,)),
        (BF16(2), flow.bfloat16, ()),
    ],
)
def test_a_tensor_of_data_has_its_shape_and_the_dtype_of_its_kind(data, dtype, shape):
    x = flow.tensor(data)
    assert x.dtype is dtype
    assert x.shape == shape
    assert type(x.data) is np.ndarray
    np.testing.assert_array_equal(x.data, np.asarray(data))


@examples(150)
@given(st.data())
def test_an_array_of_any_dtype_and_layout_comes_back(data):
    d = Draw(data.draw, DTYPES, smooth=False)
    array = d.array(d.shape(), d.one_of(*DTYPES))
    for order in ("<", ">"):
        stored = array.astype(array.dtype.newbyteorder(order)) if array.dtype.kind in "iufc" else array
        x = flow.tensor(stored)
        assert x.dtype is flow.from_numpy(array).dtype
        assert x.dtype.isnative
        np.testing.assert_array_equal(x.numpy(), array)
        assert not np.shares_memory(x.data, stored) or not array.size
        assert x.tolist() == array.tolist()
        assert flow.tensor(x).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_given_dtype_converts(dtype):
    x = flow.tensor([0, 1, 1], dtype=dtype)
    assert x.dtype is dtype
    assert x.data.dtype is dtype
    assert flow.tensor([0, 1, 1], dtype=str(dtype)).dtype is dtype
    assert [complex(v) for v in x.tolist()] == [0, 1, 1]


def test_python_types_name_dtypes():
    assert flow.zeros(1, dtype=float).dtype is flow.float32
    assert flow.zeros(1, dtype=int).dtype is flow.int64
    assert flow.zeros(1, dtype=bool).dtype is flow.bool
    assert flow.ones(1).to("float64").dtype == "float64"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("abc", "not numbers"),
        (b"abc", "not numbers"),
        (None, "not numbers"),
        ({1, 2}, "not numbers"),
        ({"a": 1}, "not numbers"),
        (["a", "b"], "not numbers"),
        ([None], "not numbers"),
        (object(), "not numbers"),
        (np.array(["a"]), "not numbers"),
        (np.array([object()]), "not numbers"),
        (np.array(["2020-01-01"], "M8[D]"), "not numbers"),
        (np.zeros(2, [("a", "f4")]), "not numbers"),
        ([[1, 2], [3]], "unequal lengths"),
        ([2**70], "not numbers"),
        (np.zeros(2, np.longdouble), "is not one of"),
        (np.zeros(2, ml_dtypes.float8_e4m3fn), "not numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(data, said):
    with pytest.raises(ValueError, match=said):
        flow.tensor(data)


def test_from_numpy_shares_memory_and_takes_arrays_alone():
    a = np.zeros((2, 3), np.float32)
    x = flow.from_numpy(a.T)
    a[0, 1] = 5
    assert x.tolist() == [[0, 0], [5, 0], [0, 0]]
    assert x.numpy().base is a
    with pytest.raises(TypeError, match="from_numpy takes a numpy array, not list"):
        flow.from_numpy([1.0])
    with pytest.raises(ValueError, match="is not one of"):
        flow.from_numpy(np.array(["a"]))


def test_a_read_only_array_is_shared_and_not_written():
    a = np.ones(3, np.float32)
    a.flags.writeable = False
    x = flow.from_numpy(a)
    assert (x + 1).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="read-only"):
        x.mul_(2.0)
    assert x.version == 0
    flow.tensor(a).mul_(2.0)  # which copied
    assert a.tolist() == [1, 1, 1]


def test_every_integer_of_the_same_bits_is_one_dtype():
    for name in ("b", "h", "i", "l", "q", "B", "H", "I", "L", "Q"):
        x = flow.from_numpy(np.ones(2, name))
        assert x.dtype is flow.tensor(np.ones(2, x.dtype.name)).dtype
        assert (x + x).dtype is x.dtype
    a = np.ones(2, np.longlong)
    assert flow.from_numpy(a).dtype is flow.int64
    assert np.shares_memory(flow.from_numpy(a).data, a)


def test_numpy_of_a_tensor_that_requires_grad_is_refused():
    x = flow.ones(2).requires_grad_()
    for convert in (lambda: x.numpy(), lambda: np.asarray(x), lambda: np.add(np.ones(2), np.asarray(x))):
        with pytest.raises(ValueError, match=r"call x\.detach\(\)\.numpy\(\)"):
            convert()
    assert x.detach().numpy() is x.data


def test_numpy_functions_take_tensors_as_arrays():
    x = flow.tensor([[1.0, 2.0]])
    np.testing.assert_array_equal(np.asarray(x), [[1, 2]])
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.shares_memory(np.asarray(x), x.data)
    assert not np.shares_memory(np.array(x, copy=True), x.data)
    assert np.linalg.norm(x) == np.float32(math.sqrt(5))


@pytest.mark.parametrize("operate", [lambda a, b: a + b, lambda a, b: a @ b, lambda a, b: a == b, lambda a, b: a < b])
def test_an_array_and_a_tensor_meet_in_an_error_that_says_what_to_do(operate):
    a, x = np.ones((2, 2), np.float32), flow.ones(2, 2)
    for pair in ((a, x), (x, a), (x, [[1.0, 2.0]])):
        with pytest.raises(TypeError, match=r"make it a tensor with flow\.tensor\(\.\.\.\)"):
            operate(*pair)


def test_comparisons_give_bools_element_by_element():
    x, y = flow.tensor([1.0, 2.0, math.nan]), flow.tensor([1.0, 3.0, math.nan])
    assert (x == y).tolist() == [True, False, False]
    assert (x != y).tolist() == [False, True, True]
    assert (x < y).tolist() == [False, True, False]
    assert (x >= 1).tolist() == [True, True, False]
    assert (1 < x).tolist() == [False, True, False]
    assert (2.0 == x).tolist() == [False, True, False]
    assert (x == y).dtype is flow.bool


def test_nothing_equals_none_or_a_string_and_tensors_are_told_apart_by_identity():
    x = flow.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert x != "a"
    assert {x: 1, flow.ones(2): 2}[x] == 1
    assert x in [x]


def test_one_element_is_a_number_and_several_are_not():
    for shape in ((), (1,), (1, 1)):
        x = flow.full(shape, 2.5)
        assert x.item() == float(x) == 2.5
        assert int(x) == 2
        assert bool(x)
    assert type(flow.tensor(3).item()) is int
    assert type(flow.tensor(True).item()) is bool
    assert type(flow.tensor(1.5, dtype=flow.bfloat16).item()) is float
    assert [10, 20, 30][flow.tensor(1)] == 20
    for wrong in (flow.ones(2), flow.ones(0)):
        for convert in (lambda x: x.item(), float, int, bool):
            with pytest.raises(ValueError, match=r"f32\[[02]\].* one element|exactly one element"):
                convert(wrong)


def test_the_number_of_a_tensor_that_requires_grad_may_be_read():
    x = flow.tensor(2.0, requires_grad=True)
    assert x.item() == float(x) == 2
    assert (x * 3.0).item() == 6


def test_len_and_iteration_go_over_the_first_dim():
    x = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    a, b = x
    assert np.shares_memory(b.data, x.data)
    assert a.shape == (2,)
    assert list(flow.zeros(0, 3)) == []
    assert len(flow.zeros(0, 3)) == 0
    for use in (len, iter):
        with pytest.raises(TypeError, match="0-d tensor"):
            use(flow.tensor(1.0))


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (flow.tensor([1.0, 2.5]), "tensor([1. , 2.5])"),
        (flow.tensor(3), "tensor(3)"),
        (flow.tensor([True]), "tensor([ True])"),
        (flow.tensor([1, 2], dtype=flow.int32), "tensor([1, 2], dtype=int32)"),
        (flow.tensor([1.0], dtype=flow.float64), "tensor([1.], dtype=float64)"),
        (flow.tensor([1.5, -2.0], dtype=flow.bfloat16), "tensor([1.5, -2], dtype=bfloat16)"),
        (flow.zeros(0), "tensor([], shape=(0,))"),
        (flow.zeros(2, 0, dtype=flow.float16), "tensor([], shape=(2, 0), dtype=float16)"),
        (flow.tensor([1j]), "tensor([0.+1.j])"),
        (flow.tensor([math.nan, -math.inf]), "tensor([ nan, -inf])"),
        (flow.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
    ],
)
def test_a_tensor_is_shown_with_its_dtype_where_it_is_not_the_usual_one(x, text):
    assert repr(x) == text


def test_a_large_tensor_is_shown_in_part_and_a_leaf_says_that_it_requires_grad():
    assert len(repr(flow.zeros(1000, 1000))) < 1000
    assert repr(flow.ones(1).requires_grad_()) == "tensor([1.], requires_grad=True)"


def test_specs_are_shown_short():
    assert repr(flow.ones(2, 3).spec) == "f32[2, 3]"
    assert repr(flow.ones(dtype=flow.bfloat16).spec) == "bf16[]"
    assert repr(flow.ones(1, dtype=flow.bool).spec) == "bool[1]"
    assert repr(flow.ones(1, dtype=flow.complex128).spec) == "c128[1]"
    assert repr(flow.ones(1, dtype=flow.uint8).spec) == "u8[1]"


def test_a_tensor_is_made_by_functions_only():
    with pytest.raises(TypeError, match=r"made by flow\.tensor"):
        flow.Tensor()
