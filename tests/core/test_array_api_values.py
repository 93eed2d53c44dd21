"""Each function of the array API standard gives numpy's values and dtypes, where numpy is the standard's reference.

Names, signatures and dtype functions are tested in test_array_api.py.
"""

import itertools

import numpy as np
import pytest

import flow_core as flow

xp = flow.array_api
INTEGERS = [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)]
BOOL, FLOATS, COMPLEX = ["bool"], ["float32", "float64"], ["complex64", "complex128"]
NUMERIC, REAL, FLOATING, ALL = (
    [*INTEGERS, *FLOATS, *COMPLEX],
    [*INTEGERS, *FLOATS],
    [*FLOATS, *COMPLEX],
    ["bool", *INTEGERS, *FLOATS, *COMPLEX],
)
BITS, SIGNED = ["bool", *INTEGERS], [d for d in NUMERIC if d[0] != "u"]

UNARY = {
    **dict.fromkeys("abs isfinite isinf isnan positive real round sign square".split(), NUMERIC),
    **dict.fromkeys("negative conj".split(), SIGNED),
    **dict.fromkeys("acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10".split(), FLOATING),
    **dict.fromkeys("reciprocal sin sinh sqrt tan tanh".split(), FLOATING),
    **dict.fromkeys("ceil floor trunc".split(), REAL),
    "imag": COMPLEX,
    "bitwise_invert": BITS,
    "logical_not": BOOL,
    "signbit": FLOATS,
}
BINARY = {
    **dict.fromkeys("add multiply equal not_equal".split(), NUMERIC),
    "subtract": NUMERIC,
    **dict.fromkeys("maximum minimum less less_equal greater greater_equal floor_divide remainder".split(), REAL),
    **dict.fromkeys("atan2 copysign hypot logaddexp nextafter".split(), FLOATS),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), BITS),
    **dict.fromkeys("bitwise_left_shift bitwise_right_shift".split(), INTEGERS),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), BOOL),
    "divide": FLOATING,
    "pow": NUMERIC,
}
OWN = set()  # the functions that a test of this file is about
# Those that test_array_api.py and test_array_api_rules.py are about.
ELSEWHERE = set(
    "astype can_cast finfo iinfo isdtype result_type asarray from_dlpack broadcast_shapes empty empty_like".split()
)


def about(*names):
    OWN.update(names)
    return lambda test: test


def sample(dtype, shape=(2, 3), start=-2):
    """Numbers from `start` on, in halves for floats and with imaginary parts for complex ones."""
    n = np.arange(np.prod(shape, dtype=int)).reshape(shape)[...]
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(n % 3 == 1)
    if kind in "iu":
        return np.asarray(abs(n + start) if kind == "u" else n + start, dtype)
    halves = (n + start) / 2 + 0.25
    return np.asarray(halves + (1j * (n % 3) - 0.5j if kind == "c" else 0), dtype)


def given(a):
    """An argument of numpy's as the namespace takes it."""
    if isinstance(a, np.ndarray):
        return flow.from_numpy(a)
    if type(a) in (list, tuple) and any(isinstance(item, np.ndarray) for item in a):
        return type(a)(map(given, a))
    return getattr(xp, a.name) if isinstance(a, np.dtype) else a


def check(out, expected, rtol=None):
    """Asserts that a result has the kind, dtype, shape and, to rounding, the values of numpy's."""
    if isinstance(expected, (list, tuple)):
        assert len(out) == len(expected)
        assert isinstance(out, (list, tuple))
        assert getattr(out, "_fields", None) == getattr(expected, "_fields", None)
        for o, e in zip(out, expected, strict=True):
            check(o, e, rtol)
        return
    expected = np.asarray(expected)
    assert isinstance(out, flow.Tensor)
    assert out.dtype == expected.dtype
    assert out.shape == expected.shape
    if expected.dtype.kind in "fc":
        eps = 8 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(out.numpy(), expected, rtol or eps, rtol or eps)
    else:
        np.testing.assert_array_equal(out.numpy(), expected)


def compare(ours, theirs, args, kwargs, rtol=None):
    check(ours(*map(given, args), **{k: given(v) for k, v in kwargs.items()}), theirs(*args, **kwargs), rtol)


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_tensor_is_numpys(name):
    for dtype in UNARY[name]:
        edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e30], dtype) if dtype in FLOATS else sample(dtype, (1,))
        for a in (sample(dtype), sample(dtype, ()), sample(dtype, (0, 2)), sample(dtype, (4, 3))[::-2, 1:], edges):
            with np.errstate(all="ignore"):
                check(getattr(xp, name)(given(a)), getattr(np, name)(a))


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_tensors_is_numpys_and_takes_a_number_for_one(name):
    for dtype in BINARY[name]:
        a, b = sample(dtype), sample(dtype, (3, 1, 3), start=1)
        if name in ("pow", "bitwise_left_shift", "bitwise_right_shift") and dtype in INTEGERS:
            b = b % np.asarray(3, dtype)
        if name in ("floor_divide", "remainder") and dtype in INTEGERS:  # which 0 does not divide
            a, b = a + (a == 0).astype(dtype), b + (b == 0).astype(dtype)
        number = {"b": True, "i": 2, "u": 2, "f": 2.5, "c": 1 + 2j}[a.dtype.kind]
        wide = {"float32": "float64", "int8": "int32", "uint16": "uint32", "complex64": "complex128"}.get(dtype, dtype)
        for pair in ((a, b), (a, b[0, 0]), (a, np.asarray(b[0, 0, 0], wide)), (b.astype(wide)[::-1], a[:, ::-1])):
            with np.errstate(all="ignore"):
                if name == "pow" and dtype in INTEGERS and (pair[1] < 0).any():
                    continue
                if name in ("floor_divide", "remainder") and dtype in INTEGERS and not pair[1].all():
                    continue  # an error, which the standard leaves open
                expected = getattr(np, name)(*pair)
            check(getattr(xp, name)(*map(given, pair)), expected)
        with np.errstate(all="ignore"):
            check(getattr(xp, name)(given(b), number), getattr(np, name)(b, number))
            check(getattr(xp, name)(number, given(b)), getattr(np, name)(number, b))


F, D, C = sample("float32", (3, 4)), sample("float64", (2, 3, 4)), sample("complex128", (3, 4))
N, U, B = sample("int32", (3, 4)), sample("uint8", (3, 4)), sample("bool", (3, 4))
LONG, NANS = N.astype("int64"), np.array([2.0, np.nan, 2, np.nan])
TIES = np.array([[3, 1, 3], [1, 1, 2], [0, 3, 3]], "int16")
PLACES = np.array([2, 0, -1, 2])
S = np.array([[4.0, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]])
SS = np.stack([S, S.T @ S])
T = np.array([1.0, 2.0, 2.0, 5.0])


def every(names, *arguments, **options):
    """(name, arguments, keywords) of all combinations: of names, of arguments (tuples, or one alone), of the keywords' values."""
    for name, args, values in itertools.product(names.split(), arguments, itertools.product(*options.values())):
        yield name, args if type(args) is tuple else (args,), dict(zip(options, values, strict=True))


def types(*names):
    return [np.dtype(name) for name in names]


BOTH = [False, True]
# What numpy has under the same name, with the same arguments.
CALLS = [
    *every("max min", F, D, N, U, axis=[None, -1, (0, 1)], keepdims=BOTH),
    *every("mean sum prod", F, D, C, axis=[None, 0, (0, -1), ()], keepdims=BOTH),
    *every("sum prod", LONG, U.astype("uint64"), F[:0], axis=[None, 1]),
    *every("sum prod", N, dtype=types("int32", "int16", "float64", "complex64")),
    *every("std var", F, D, axis=[None, 1, (0, 1), ()], correction=[0.0, 0.5], keepdims=BOTH),
    *every("all any count_nonzero", B, N, F, C, F[:0], axis=[None, 0, (0, 1)], keepdims=BOTH),
    *every("argmax argmin", F, N, U, TIES, axis=[None, -1, 0], keepdims=BOTH),
    *every("argsort sort", F, N, U, -F, TIES, axis=[-1, 0], stable=[True]),
    *every("cumulative_sum cumulative_prod", F, D, C, LONG, axis=[0, -1], include_initial=BOTH),
    *every("cumulative_sum cumulative_prod", T, dtype=types("float32", "complex128")),
    *every("diff", F, N, C, axis=[-1, 0], n=[0, 1, 2]),
    *every("diff", F, axis=[0], prepend=[F[:1]], append=[F[:2]]),
    *every("nonzero", F, N, B, C, T),
    *every("searchsorted", (T, T), (T, np.array([[0.0, 2], [9, 5]])), side=["left", "right"]),
    *every("searchsorted", (T[::-1].copy(), T), sorter=[np.array([3, 2, 1, 0])]),
    *every("isin", (N, U), (F, F[:1]), (N, 0), invert=BOTH),
    *every("where", (B, F, F[:1]), (B, F, np.asarray(0.5)), (B, N, 3), (B, 2.5, F)),
    *every("take", (F, PLACES), (N, PLACES), (B, PLACES), axis=[0, -2]),
    *every("take", (T, PLACES), (T, PLACES[:0])),
    *every("take_along_axis", *[(x, np.array([[2, 0, 1, -1]])) for x in (F, N, C)], axis=[0]),
    *every("take_along_axis", (F, np.argsort(F))),
    *every("matmul", (F, F.T), (D, C.T), (T, F.T), (N, N[0]), (T, T)),
    *every("matrix_transpose", D),
    *every("vecdot", (C, F), (N, N)),
    *every("vecdot", (D, F[:, :1]), axis=[-2]),
    *every("tensordot", (D, F), axes=[2, 0, ((1, 2), (0, 1)), ((2,), (1,))]),
    *every("tensordot", (N, N)),
    *every("broadcast_arrays", (F, D, T)),
    *every("broadcast_to", (F, (2, 3, 4)), (T, (0, 4))),
    *every("concat", ([F, F],), ([F, D[0]],), ((N, N),), axis=[0, -1, None]),
    *every("expand_dims", F, axis=[0, 1, 2, -1, -3]),
    *every("flip", D, axis=[None, 0, -1, (0, 2)]),
    *every("moveaxis", (D, 0, -1), (D, (0, 1), (2, 0))),
    *every("permute_dims", (D, (2, 0, 1)), (np.asarray(1.0), ())),
    *every("repeat", (F, 2), (F, 0), axis=[None, 0, 1]),
    *every("repeat", (F, np.array([0, 1, 3])), axis=[0]),
    *every("reshape", (F, (2, -1)), (F, (12,)), (F.T, (12,)), copy=[None, True]),
    *[
        call
        for s, a in ((1, None), (-2, 1), ((1, 2), (0, 2)), (1, (0, 1)), (7, 0))
        for call in every("roll", (D, s), axis=[a])
    ],
    *every("squeeze", D[:1, :, :1], axis=[(0, -1), 0, 2]),
    *every("stack", ([F, F],), ([F, D[0]],), axis=[0, 1, -1]),
    *every("tile", (F, (2,)), (F, (2, 1, 3)), (T, ())),
    *every("unstack", D, axis=[0, -1]),
    *every("unique_all unique_counts unique_inverse unique_values", TIES, U, B, C, NANS, TIES[:0], np.asarray(3)),
    *every("clip", (F, -0.5, 1.0), (N, 0), (F, None, F[:1]), (F, F[:1], F[1:2]), (F,), (T, 2, None)),
    *every("arange", (5,), (2, 9), (9, 2, -2), (3, 3), dtype=types("int32", "int64", "float64")),
    *every("arange", (0.5, 3.0, 0.5), dtype=types("float32", "float64")),
    *every("arange", 7, stop=[9], step=[1, 2]),
    *every("linspace", (0.0, 1.0), (3, -1), num=[0, 1, 5], endpoint=BOTH, dtype=types("float32", "float64")),
    *every("linspace", (1j, 2.0), num=[3], dtype=types("complex128")),
    *every("eye", (3,), (3, 4), (2, 0), k=[0, 1, -2], dtype=types("bool", "float32", "int8")),
    *every(
        "full",
        *itertools.product([(), 3, (2, 0), (2, 3)], [3, True]),
        dtype=types("bool", "uint8", "float32", "complex64"),
    ),
    *every("full", ((2,), 3), ((2,), True)),
    *[call for shape in ((), 3, (2, 0), [2, 3]) for call in every("ones zeros", (shape,), dtype=types(*ALL))],
    *every("ones_like zeros_like", F, N, B, C, F.T),
    *every("ones_like zeros_like", F, dtype=types("int8", "bool")),
    *every("full_like", (F, 3), (N, 2), dtype=[None, np.dtype("float64")]),
    *every("meshgrid", (T, T[:2], N[0]), (T,), (), indexing=["xy", "ij"]),
    *every("tril triu", F, D, B, C, N, k=[0, 1, -2, 9]),
]
LINALG = [
    *every("cholesky", S, SS, S.astype("float32"), upper=BOTH),
    *every("cross", (D[..., :3], F[0, :3]), (N[:, :3], N[:, 1:])),
    *every("cross", (C[:, :2], C[:, 2:]), axis=[0]),
    *every("det inv slogdet eigvalsh svdvals", S, SS, S.astype("float32")),
    *every("det inv", S + 1j * np.tri(3)),
    *every("diagonal", F, D, B, offset=[0, 1, -2, 3]),
    *every("matrix_norm", F, D, ord=["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf], keepdims=BOTH),
    *every("matrix_power", *itertools.product([S, SS], [0, 1, 3, -2])),
    *every("matrix_rank", S, np.ones((2, 3, 4)), rtol=[None, 0.6]),
    *every("outer", (T, F[0]), (C[0], C[1])),
    *every("pinv", F, D, rtol=[None, 1e-3]),
    *every("solve", (S, T[:3]), (SS, T[:3]), (S, D[:, :, :2]), (SS, np.eye(3)[:, :2])),
    *every("trace", F, D, C, LONG, offset=[0, 1, -1]),
    *every("trace", N, dtype=types("float32")),
    *every("vector_norm", F, D, C, axis=[None, 0, (0, 1)], ord=[2, 1, 0, np.inf, -np.inf, 3, -1], keepdims=BOTH),
]
FFT = [
    *every("fft ifft irfft hfft", F, D, C, C.astype("complex64"), axis=[-1, 0], norm=["backward", "ortho", "forward"]),
    *every("fft ifft rfft irfft hfft ihfft", F, D, n=[None, 3, 6]),
    *every("fftn ifftn rfftn irfftn", D, D.astype("float32"), axes=[None, (0, 1), (1, 2)]),
    *every("fftn ifftn rfftn irfftn", D, s=[(3, 5)], axes=[(1, 2)]),
    *every("fftfreq rfftfreq", 1, 4, 7, d=[1.0, 0.25], dtype=types("float32", "float64")),
    *every("fftshift ifftshift", F, D, axes=[None, 0, (0, 1)]),
]


def frequencies(function):
    """numpy's fftfreq makes float64 alone."""
    return lambda n, *, d, dtype: function(n, d).astype(dtype)


THEIRS = {
    "fftfreq": frequencies(np.fft.fftfreq),
    "rfftfreq": frequencies(np.fft.rfftfreq),
    "clip": lambda x, min=None, max=None: np.clip(x, min, max),  # which has two more, for ufuncs
    "unique_values": lambda x: np.unique(x, equal_nan=False),  # which is not in order
    **{name: lambda x, dtype=None, name=name: getattr(np, name)(x, dtype) for name in ("ones_like", "zeros_like")},
}


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _, _ in CALLS))
def test_a_function_is_numpys(name):
    for called, args, kwargs in CALLS:
        if called == name:
            with np.errstate(all="ignore"):
                compare(getattr(xp, name), THEIRS.get(name) or getattr(np, name), args, kwargs)


@pytest.mark.parametrize("place", ["linalg", "fft"])
def test_a_function_of_an_extension_is_numpys(place):
    for name, args, kwargs in {"linalg": LINALG, "fft": FFT}[place]:
        theirs = THEIRS.get(name) or getattr(getattr(np, place), name)
        single = any(getattr(a, "dtype", None) in (np.float32, np.complex64) for a in args)
        compare(getattr(getattr(xp, place), name), theirs, args, kwargs, 2e-4 if single else 1e-10)


def test_every_function_of_the_standard_is_tested(request):
    names = {name for name in dir(xp) if not name.startswith("_") and callable(getattr(xp, name)) and name not in ALL}
    modules = "creation dtypes elementwise info linalg manipulation searching statistical".split()
    tested = {*UNARY, *BINARY, *OWN, *[name for name, _, _ in CALLS]}
    assert names - set(modules) - tested - ELSEWHERE == set()
    for place, calls in ((xp.linalg, LINALG), (xp.fft, FFT)):
        own = {
            n for n, f in vars(place).items() if getattr(f, "__module__", None) == place.__name__ and n[:6] != "along_"
        }
        assert own - {name for name, _, _ in calls} - tested == set()


@about("sort", "argsort")
def test_falling_order_keeps_equal_elements_in_theirs():
    for a in (TIES, F, U, B.astype("uint8")):
        places = np.argsort(-a.astype("float64"), axis=0, stable=True)
        check(xp.argsort(given(a), axis=0, descending=True), places)
        check(xp.sort(given(a), axis=0, descending=True), np.take_along_axis(a, places, 0))


@about("eigh", "eig", "eigvals", "qr", "svd")
def test_decompositions_multiply_to_what_they_came_from():
    for a in (S, SS, S.astype("float32")):
        x, rtol = given(a), 1e-4 if a.dtype == np.float32 else 1e-10
        w, v = xp.linalg.eigh(x)
        check((v * xp.expand_dims(w, -2)) @ v.mT, a, rtol)
        check(w, np.linalg.eigh(a).eigenvalues, rtol)
        assert xp.linalg.eigh(x)._fields == xp.linalg.eig(x)._fields == ("eigenvalues", "eigenvectors")
        w, v = xp.linalg.eig(x)
        check(v * xp.expand_dims(w, -2), (x @ xp.real(v)).numpy().astype(w.dtype), rtol)
        check(xp.sort(xp.real(xp.linalg.eigvals(x))), np.linalg.eigvalsh(a), rtol)
    for a in (F, D, C):
        x, rtol = given(a), 1e-4 if a.dtype == np.float32 else 1e-10
        for full in (False, True):
            u, s, vh = xp.linalg.svd(x, full_matrices=full)
            k = s.shape[-1]
            check((u[..., :k] * xp.expand_dims(xp.astype(s, x.dtype), -2)) @ vh[..., :k, :], a, rtol)
            q, r = xp.linalg.qr(x, mode="complete" if full else "reduced")
            check(q @ r, a, rtol)
            assert q.shape == np.linalg.qr(a, "complete" if full else "reduced").Q.shape
        assert xp.linalg.svd(x)._fields == ("U", "S", "Vh")
        assert xp.linalg.qr(x)._fields == ("Q", "R")
    assert xp.linalg.slogdet(given(S))._fields == ("sign", "logabsdet")


@about("matmul", "matrix_transpose", "tensordot", "vecdot")
def test_the_extension_shares_functions_with_the_namespace():
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(xp.linalg, name) is getattr(xp, name)
