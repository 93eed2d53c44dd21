"""Complex numbers, their parts and real ones beside them: as numpy has them, and PyTorch's dtypes."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import examples

Z = np.array([[1 + 2j, -3 + 0j, 0], [-1j, 0.5 - 0.5j, -2 + 1e-3j]])
FUNCTIONS = {
    "real": (flow.real, np.real),
    "imag": (flow.imag, np.imag),
    "conj": (flow.conj, np.conj),
    "conj_physical": (flow.conj_physical, np.conj),
    "angle": (flow.angle, np.angle),
    "abs": (flow.abs, np.abs),
    "sgn": (flow.sgn, np.sign),
    "isreal": (flow.isreal, np.isreal),
    "var": (lambda x: flow.var(x, 1), lambda x: np.var(x, 1, ddof=1)),
    "std": (lambda x: flow.std(x, unbiased=False), np.std),
    "var of all": (lambda x: flow.var(x, False), np.var),
    "mean of var_mean": (lambda x: flow.var_mean(x, 0)[1], lambda x: np.mean(x, 0)),
    "std of std_mean": (lambda x: flow.std_mean(x, 0, keepdim=True)[0], lambda x: np.std(x, 0, ddof=1, keepdims=True)),
}


@pytest.mark.parametrize("dtype", [flow.complex64, flow.complex128], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_equals_numpy_s(name, dtype):
    function, reference = FUNCTIONS[name]
    out = function(flow.tensor(Z, dtype=dtype))
    expected = np.asarray(reference(Z.astype(dtype)))
    assert out.shape == expected.shape
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out.numpy(), expected, 4e-7 if dtype is flow.complex64 else 1e-15)


def test_the_parts_are_views_that_write_through():
    z = flow.tensor(Z)
    z.real.zero_()
    z.imag.fill_(3)
    assert (z == 3j).all()
    pairs = flow.view_as_real(z)
    assert pairs.shape == (2, 3, 2)
    pairs[..., 0].fill_(1)
    assert (z == 1 + 3j).all()
    back = flow.view_as_complex(pairs)
    assert np.shares_memory(back.numpy(), z.numpy())
    transposed = flow.view_as_real(z.T)
    np.testing.assert_array_equal(transposed[..., 1].numpy(), 3)


def test_real_numbers_are_their_own_real_parts_and_conjugates():
    x = flow.tensor([-1.0, 0.0, 2.0, math.nan])
    assert x.real is x
    assert x.conj() is x
    assert x.resolve_conj() is x
    assert x.conj_physical() is not x
    assert not x.is_conj()
    np.testing.assert_allclose(x.angle().numpy(), [math.pi, 0, 0, math.nan], 1e-7)
    assert flow.angle(flow.tensor([-1, 1])).dtype is flow.float32
    assert x.isreal().all()
    assert (x.is_complex(), flow.tensor(1j).is_complex()) == (False, True)
    with pytest.raises(TypeError, match="imag"):
        _ = x.imag


def test_bools_have_signs():
    x = flow.tensor([True, False])
    for out in (x.sign(), x.sgn(), flow.sign(x), x.abs()):
        assert out.dtype is flow.bool
        assert out.tolist() == [True, False]


@examples(60)
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_parts_and_polar_coordinates_make_the_number(a, b):
    re, im = flow.tensor(np.array([a])), flow.tensor(np.array([[b], [0.0]]))
    z = flow.complex(re, im)
    assert z.shape == (2, 1)
    assert z.tolist() == [[complex(a, b)], [complex(a, 0)]]
    again = flow.polar(z.abs(), z.angle())
    np.testing.assert_allclose(again.numpy(), z.numpy(), 1e-14, 1e-12)


@pytest.mark.parametrize("cast", ["byte", "short", "int", "long", "half", "bfloat16", "float", "double"])
def test_a_cast_to_real_numbers_drops_the_imaginary_parts_with_a_warning(cast):
    z = flow.tensor([1 + 5j, 2 + 0j], dtype=flow.complex64)
    with pytest.warns(UserWarning, match="drops the imaginary parts"):
        out = getattr(z, cast)()
    assert out.tolist() == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flow.tensor([1j, 0]).bool().tolist() == [True, False]
        assert flow.tensor([1.5]).cdouble().tolist() == [1.5 + 0j]


def test_casts_have_the_dtypes_of_their_names():
    names = {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16"}
    names |= {"float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128"}
    for name, dtype in names.items():
        assert str(getattr(flow.ones(2), name)().dtype) == dtype
    with pytest.raises(TypeError, match="chalf"):
        flow.ones(2).chalf()


def test_closeness_is_of_absolute_values():
    a = flow.tensor([1 + 1j, 2.0])
    assert flow.allclose(a, a + 1e-9j)
    assert not flow.allclose(a, a + 1e-3j)
    assert flow.allclose(a, a + 1e-3j, rtol=1e-2)
    assert flow.equal(a, a.clone())
    assert not flow.equal(a, a.conj())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: flow.complex(flow.ones(2), flow.ones(2).double()), TypeError),
        (lambda: flow.complex(flow.tensor([1]), flow.tensor([1])), TypeError),
        (lambda: flow.complex(flow.ones(2), 2), TypeError),
        (lambda: flow.complex(flow.ones(2), flow.ones(3)), ValueError),
        (lambda: flow.polar(2, 3), TypeError),
        (lambda: flow.view_as_real(flow.ones(2)), TypeError),
        (lambda: flow.view_as_complex(flow.ones(2, 3)), ValueError),
        (lambda: flow.view_as_complex(flow.tensor(1.0)), ValueError),
        (lambda: flow.view_as_complex(flow.ones(2).half()), TypeError),
        (lambda: flow.sign(flow.tensor(1j)), TypeError),
    ],
)
def test_what_has_no_such_parts_is_refused(call, error):
    with pytest.raises(error):
        call()
