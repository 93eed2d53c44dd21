"""Two dtypes, or a dtype and a Python number, promote as in PyTorch."""

import itertools

import numpy as np
import pytest

import flow_core as flow
from flow_core.dtype import SCALAR_CATEGORIES, category, promote
from flow_core.testing import DTYPES

# torch.promote_types, row by row. PyTorch promotes uint16, uint32 and uint64 hardly ever; they follow numpy here.
NAMES = "bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128".split()
TORCH = """
bool  bool u8   i8   i16  i32  i64  f16  bf16 f32  f64  c64  c128
u8    u8   u8   i16  i16  i32  i64  f16  bf16 f32  f64  c64  c128
i8    i8   i16  i8   i16  i32  i64  f16  bf16 f32  f64  c64  c128
i16   i16  i16  i16  i16  i32  i64  f16  bf16 f32  f64  c64  c128
i32   i32  i32  i32  i32  i32  i64  f16  bf16 f32  f64  c64  c128
i64   i64  i64  i64  i64  i64  i64  f16  bf16 f32  f64  c64  c128
f16   f16  f16  f16  f16  f16  f16  f16  f32  f32  f64  c64  c128
bf16  bf16 bf16 bf16 bf16 bf16 bf16 f32  bf16 f32  f64  c64  c128
f32   f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  c64  c128
f64   f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128
c64   c64  c64  c64  c64  c64  c64  c64  c64  c64  c128 c64  c128
c128  c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""
DTYPE = dict(
    zip(
        NAMES,
        [
            *[flow.bool, flow.uint8, flow.int8, flow.int16, flow.int32, flow.int64],
            *[flow.float16, flow.bfloat16, flow.float32, flow.float64, flow.complex64, flow.complex128],
        ],
        strict=True,
    )
)
TABLE = {
    (DTYPE[row[0]], DTYPE[column]): DTYPE[cell]
    for row in map(str.split, TORCH.strip().splitlines())
    for column, cell in zip(NAMES, row[1:], strict=True)
}


@pytest.mark.parametrize(("a", "b"), list(TABLE), ids=str)
def test_two_dtypes_promote_as_in_pytorch(a, b):
    assert promote(a, b) is TABLE[a, b]
    x = flow.zeros(2, dtype=a) + flow.zeros(2, dtype=b)
    assert x.dtype is TABLE[a, b]
    assert flow.promote_types(a, b) is TABLE[a, b]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(DTYPES, DTYPES)), ids=str)
def test_promotion_is_symmetric_and_keeps_the_higher_category(a, b):
    if flow.uint64 in (a, b) and "i" in (a.kind, b.kind):  # no integer type holds both
        for pair in ((a, b), (b, a)):
            with pytest.raises(TypeError, match="cast one of them first"):
                promote(*pair)
        return
    wide = promote(a, b)
    assert promote(b, a) is wide
    assert category(wide) == max(category(a), category(b))
    assert promote(wide, a) is wide
    assert promote(wide, b) is wide


@pytest.mark.parametrize("number", [True, 2, 1.5, 1j], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_python_number_gives_its_category_and_no_width(dtype, number):
    kind = type(number)
    if SCALAR_CATEGORIES[kind] <= category(dtype):
        expected = dtype
    elif kind is complex:
        expected = flow.complex128 if dtype is flow.float64 else flow.complex64
    else:
        expected = {int: flow.int64, float: flow.float32}[kind]
    assert promote(dtype, kind) is expected
    assert promote(kind, dtype) is expected
    for shape in ((), (2,), (0,)):
        x = flow.ones(*shape, dtype=dtype)
        assert (x * number).dtype is expected
        assert (number * x).dtype is expected
        assert (x * number).data.dtype is expected
        np.testing.assert_array_equal((x * number).data, np.full(shape, number, expected))


def test_two_python_numbers_promote_to_the_dtype_that_a_tensor_of_them_has():
    kinds = [bool, int, float, complex]
    for a, b in itertools.product(kinds, kinds):
        assert promote(a, b) is flow.tensor(max(a, b, key=kinds.index)(1)).dtype


@pytest.mark.parametrize("with_dims", DTYPES, ids=str)
@pytest.mark.parametrize("without", DTYPES, ids=str)
def test_a_tensor_without_dims_widens_another_only_by_its_category(with_dims, without):
    x, y = flow.ones(3, dtype=with_dims), flow.ones(dtype=without)
    if category(without) <= category(with_dims):
        expected = with_dims
    elif category(with_dims) == 2:  # to complex: of the float's own width
        expected = flow.complex128 if with_dims is flow.float64 else flow.complex64
    else:
        expected = without
    for z in (x * y, y * x, flow.where(flow.tensor(True), x, y)):
        assert z.dtype is expected
        assert z.data.dtype is expected


@pytest.mark.parametrize("dtype", [flow.bool, flow.uint8, flow.int64], ids=str)
def test_division_and_transcendentals_of_integers_give_float32(dtype):
    x = flow.ones(2, dtype=dtype)
    assert (x / x).dtype is flow.float32
    assert (x / 2).dtype is flow.float32
    assert x.exp().dtype is flow.float32
    assert flow.sigmoid(x).dtype is flow.float32


def test_sums_of_integers_and_bools_are_int64_and_products_keep_16_bits():
    assert flow.ones(2, dtype=flow.int8).sum().dtype is flow.int64
    assert flow.ones(2, dtype=flow.bool).sum().dtype is flow.int64
    assert flow.ones(2, dtype=flow.bfloat16).sum().dtype is flow.bfloat16
    assert (flow.ones(2, 2, dtype=flow.float16) @ flow.ones(2, 2, dtype=flow.float16)).dtype is flow.float16


def test_16_bit_floats_are_added_in_float32():
    x = flow.ones(4096, dtype=flow.bfloat16)  # in bfloat16, 256 + 1 is 256
    assert x.sum().item() == 4096
    assert (flow.ones(1, 4096, dtype=flow.bfloat16) @ flow.ones(4096, 1, dtype=flow.bfloat16)).item() == 4096
    assert flow.full((2,), 60000.0, dtype=flow.float16).mean().item() == 60000  # whose sum float16 does not hold
