"""The array namespace has every name of the Python array API standard 2024.12, with the standard's arguments, dtypes and kinds.

What the functions return is compared with numpy in test_array_api_values.py.
"""

import inspect
import math

import numpy as np
import pytest

import flow_core as flow

xp = flow.ones(1).__array_namespace__()

# The standard's signatures, without annotations: https://data-apis.org/array-api/2024.12/API_specification
FUNCTIONS = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)

astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)

clip(x, /, min=None, max=None)

take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)

matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)

broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, axis)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)

argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)

unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)

argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)

cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)

all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)

__array_namespace_info__()
"""
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p
log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh trunc""".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater
greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder
subtract""".split()
LINALG = """
cholesky(x, /, *, upper=False)
cross(x1, x2, /, *, axis=-1)
det(x, /)
diagonal(x, /, *, offset=0)
eigh(x, /)
eigvalsh(x, /)
inv(x, /)
matmul(x1, x2, /)
matrix_norm(x, /, *, keepdims=False, ord='fro')
matrix_power(x, n, /)
matrix_rank(x, /, *, rtol=None)
matrix_transpose(x, /)
outer(x1, x2, /)
pinv(x, /, *, rtol=None)
qr(x, /, *, mode='reduced')
slogdet(x, /)
solve(x1, x2, /)
svd(x, /, *, full_matrices=True)
svdvals(x, /)
tensordot(x1, x2, /, *, axes=2)
trace(x, /, *, offset=0, dtype=None)
vecdot(x1, x2, /, *, axis=-1)
vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""
FFT = """
fft(x, /, *, n=None, axis=-1, norm='backward')
ifft(x, /, *, n=None, axis=-1, norm='backward')
fftn(x, /, *, s=None, axes=None, norm='backward')
ifftn(x, /, *, s=None, axes=None, norm='backward')
rfft(x, /, *, n=None, axis=-1, norm='backward')
irfft(x, /, *, n=None, axis=-1, norm='backward')
rfftn(x, /, *, s=None, axes=None, norm='backward')
irfftn(x, /, *, s=None, axes=None, norm='backward')
hfft(x, /, *, n=None, axis=-1, norm='backward')
ihfft(x, /, *, n=None, axis=-1, norm='backward')
fftfreq(n, /, *, d=1.0, dtype=None, device=None)
rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fftshift(x, /, *, axes=None)
ifftshift(x, /, *, axes=None)
"""
INFO = """
capabilities()
default_device()
default_dtypes(*, device=None)
devices()
dtypes(*, device=None, kind=None)
"""
ATTRIBUTES = "dtype device mT ndim shape size T".split()
OPERATORS = """abs add and bool complex eq float floordiv ge getitem gt index int invert le lshift lt matmul mod mul ne neg or pos pow
radd rand rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rshift rsub rtruediv rxor setitem sub truediv xor array_namespace dlpack
dlpack_device""".split()
INTEGERS = [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]


def lines(table):
    return {line.partition("(")[0]: line[line.index("(") :] for line in table.split("\n") if line}


SIGNATURES = {
    **{f"xp.{name}": text for name, text in lines(FUNCTIONS).items()},
    **{f"xp.{name}": "(x, /)" for name in UNARY},
    **{f"xp.{name}": "(x1, x2, /)" for name in BINARY},
    **{f"xp.linalg.{name}": text for name, text in lines(LINALG).items()},
    **{f"xp.fft.{name}": text for name, text in lines(FFT).items()},
    **{f"info.{name}": text for name, text in lines(INFO).items()},
}


def found(path):
    place, _, name = path.rpartition(".")
    owners = {"xp": xp, "xp.linalg": xp.linalg, "xp.fft": xp.fft, "info": xp.__array_namespace_info__()}
    return getattr(owners[place], name)


@pytest.mark.parametrize("path", SIGNATURES)
def test_a_function_of_the_standard_has_its_name_arguments_and_a_docstring(path):
    function = found(path)
    assert str(inspect.signature(function)) == SIGNATURES[path]
    assert function.__name__ == path.rpartition(".")[2]
    assert function.__doc__


def test_the_standard_is_the_one_that_numpy_has():
    assert xp.__array_api_version__ == "2024.12"
    theirs = {"xp": np, "xp.linalg": np.linalg, "xp.fft": np.fft, "info": np.__array_namespace_info__()}
    for path in SIGNATURES:
        place, _, name = path.rpartition(".")
        assert callable(getattr(theirs[place], name)), path


def test_tensors_have_the_attributes_and_operators_of_the_standard():
    x = flow.ones(2, 2)
    for name in [*ATTRIBUTES, "to_device", *[f"__{name}__" for name in OPERATORS]]:
        assert hasattr(x, name), name
    assert x.size == 4


def test_a_tensor_hands_out_the_namespace_of_a_version_that_it_has():
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        assert flow.ones(1).__array_namespace__(api_version=version) is flow.array_api
    with pytest.raises(ValueError, match=r"'1999\.12', expected 2024\.12"):
        flow.ones(1).__array_namespace__(api_version="1999.12")


def test_constants():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)


def test_dtypes_are_values_of_the_namespace_and_compare():
    for name in DTYPES:
        dtype = getattr(xp, name)
        assert dtype == getattr(np, name)
        assert xp.zeros(2, dtype=dtype).dtype == dtype
        assert [other for other in DTYPES if getattr(xp, other) == dtype] == [name]


def test_the_inspection_functions_tell_what_there_is():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.devices() == [info.default_device()] == [xp.ones(1).device]
    defaults = info.default_dtypes()
    assert defaults == info.default_dtypes(device=info.default_device())
    assert defaults["real floating"] == xp.asarray(1.0).dtype == xp.ones(1).dtype
    assert defaults["complex floating"] == xp.asarray(1j).dtype
    assert defaults["integral"] == xp.asarray(1).dtype == xp.arange(3).dtype
    assert defaults["indexing"] == xp.argmax(xp.ones(3)).dtype == xp.nonzero(xp.ones(3))[0].dtype
    assert info.dtypes() == {name: getattr(xp, name) for name in DTYPES}
    for kind in (
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    ):
        assert set(info.dtypes(kind=kind)) == set(np.__array_namespace_info__().dtypes(kind=kind)), kind
    assert set(info.dtypes(kind=("bool", "integral"))) == {"bool", *INTEGERS}
    with pytest.raises(ValueError, match="kind is 'float'"):
        info.dtypes(kind="float")
    with pytest.raises(ValueError, match="cuda"):
        info.dtypes(device="cuda")


def test_isdtype():
    for name in DTYPES:
        dtype = getattr(xp, name)
        for kind in (
            "bool",
            "signed integer",
            "unsigned integer",
            "integral",
            "real floating",
            "complex floating",
            "numeric",
        ):
            assert xp.isdtype(dtype, kind) == np.isdtype(np.dtype(name), kind)
        assert xp.isdtype(dtype, dtype)
        assert xp.isdtype(dtype, ("bool", "numeric"))
        assert not xp.isdtype(dtype, ())
        assert xp.isdtype(dtype, (xp.int8, dtype))
        assert xp.isdtype(dtype, xp.int8) == (name == "int8")
    assert xp.isdtype(flow.bfloat16, "real floating")
    with pytest.raises(ValueError, match="kind is 'float', expected"):
        xp.isdtype(xp.float32, "float")


@pytest.mark.parametrize("name", DTYPES)
def test_finfo_and_iinfo_hold_python_numbers(name):
    dtype = getattr(xp, name)
    for given in (dtype, xp.zeros(1, dtype=dtype)):
        if name in INTEGERS:
            theirs, limits = np.iinfo(name), xp.iinfo(given)
            assert (limits.bits, limits.max, limits.min) == (theirs.bits, theirs.max, theirs.min)
            assert type(limits.max) is int
            assert limits.dtype == dtype
        else:
            with pytest.raises(TypeError, match="iinfo"):
                xp.iinfo(given)
        if dtype.kind in "fc":
            theirs, limits = np.finfo(name), xp.finfo(given)
            for field in ("bits", "eps", "max", "min", "smallest_normal", "dtype"):
                assert getattr(limits, field) == getattr(theirs, field), field
            assert type(limits.eps) is float
        else:
            with pytest.raises(TypeError, match="finfo"):
                xp.finfo(given)


def test_result_type_is_the_standards_table_with_weak_numbers():
    same_kind = [INTEGERS, ["float32", "float64", "complex64", "complex128"], ["bool"]]
    for kind in same_kind:
        for a in kind:
            for b in kind:
                if {a[:4], b[:4]} == {"uint", "int" + a[3:4]} or ("uint64" in (a, b) and a[0] != b[0]):
                    continue
                expected = np.result_type(np.dtype(a), np.dtype(b))
                assert xp.result_type(getattr(xp, a), getattr(xp, b)) == expected, (a, b)
                assert xp.result_type(xp.zeros(1, dtype=getattr(xp, a)), getattr(xp, b)) == expected
                assert (xp.zeros(1, dtype=a) + xp.zeros(1, dtype=b)).dtype == expected or a == "bool"
    assert xp.result_type(xp.int8, 3) == xp.int8
    assert xp.result_type(xp.float32, 3, 1.5) == xp.float32
    assert xp.result_type(xp.float64, 1j) == xp.complex128
    assert xp.result_type(xp.float32, xp.float64, 1j) == xp.complex128
    assert xp.result_type(xp.bool, True) == xp.bool
    with pytest.raises(TypeError, match="uint64"):
        xp.result_type(xp.int64, xp.uint64)
    with pytest.raises(TypeError, match="numbers given"):
        xp.result_type(1, 2.0)


def test_can_cast_is_numpys_safe_casting():
    for a in DTYPES:
        for b in DTYPES:
            assert xp.can_cast(getattr(xp, a), getattr(xp, b)) == np.can_cast(a, b)
            assert xp.can_cast(xp.zeros(1, dtype=a), getattr(xp, b)) == np.can_cast(a, b)


def test_astype_copies_unless_told_not_to():
    x = xp.asarray([1.5, 0.0, -2.5])
    assert xp.astype(x, xp.int32).tolist() == [1, 0, -2]
    assert xp.astype(x, xp.bool).tolist() == [True, False, True]
    assert xp.astype(x, xp.complex128).dtype == xp.complex128
    assert xp.astype(x, xp.float32, copy=False) is x
    assert not np.shares_memory(xp.astype(x, xp.float32).data, x.data)
    with pytest.raises(TypeError, match="imaginary"):
        xp.astype(xp.asarray([1j]), xp.float32)
    with pytest.raises(ValueError, match="cuda"):
        xp.astype(x, xp.float32, device="cuda")
