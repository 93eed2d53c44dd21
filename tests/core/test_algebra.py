"""Products, linear algebra, transforms, windows and special functions equal numpy's and scipy's, on shapes with 0 and 1."""

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from scipy import fft, special

import flow_core as flow
from flow_core.testing import calls, examples

RNG = np.random.default_rng(3)


def array(*shape, dtype=np.float64):
    x = RNG.uniform(-1, 1, shape)
    return np.asarray(x + 1j * RNG.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else x, dtype)


def same(found, expected, rtol=1e-9):
    found = found.numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bij,bjk": [(2, 2, 3), (2, 3, 1)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "ij->ji": [(2, 3)],
    "i,j,k->kij": [(2,), (3,), (1,)],
    "...ij,...jk->...ik": [(2, 1, 2, 3), (3, 3, 2)],
    "ij,ij->": [(2, 0), (2, 0)],
    "aab,b,ac->c": [(2, 2, 3), (3,), (2, 4)],
    ",i->i": [(), (3,)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_einsum_equals_numpy_s(equation, dtype):
    arrays = [array(*shape, dtype=dtype) for shape in EQUATIONS[equation]]
    same(flow.einsum(equation, *map(flow.tensor, arrays)), np.einsum(equation, *arrays))


def test_einsum_sums_over_an_ellipsis_that_the_output_lacks():
    a, b = array(2, 3, 1), array(3, 4)
    same(flow.einsum("b...,...->b", flow.tensor(a), flow.tensor(b)), (a * b).sum((1, 2)))


def test_einsum_takes_lists_of_numbers():
    a, b = array(2, 3), array(3, 4)
    same(flow.einsum(flow.tensor(a), [0, 1], flow.tensor(b), [1, 2], [2, 0]), (a @ b).T)


@pytest.mark.parametrize("equation", ["ij,jk->ik->", "ij,jk->il", "ij,kl,m->i", "i,jk->ii", "ij,ik->i1", "ijk,jk->i"])
def test_einsum_refuses_what_does_not_fit(equation):
    with pytest.raises(ValueError, match="einsum"):
        flow.einsum(equation, flow.ones((2, 3)), flow.ones((3, 4)))


@pytest.mark.parametrize("dims", [0, 1, 2, ([0, 2], [2, 1])])
def test_tensordot_equals_numpy_s(dims):
    a = array(2, 3, 4) if isinstance(dims, tuple) else array(4, 2, 3)
    b = array(3, 4, 2) if isinstance(dims, tuple) else array(*a.shape[3 - dims :], 2)
    same(flow.tensordot(flow.tensor(a), flow.tensor(b), dims), np.tensordot(a, b, dims))


@pytest.mark.parametrize(("a", "b"), [((2, 3), (3,)), ((), (2,)), ((2, 1, 2), (3, 2)), ((0, 2), (2, 2))])
def test_kron_equals_numpy_s(a, b):
    a, b = array(*a), array(*b)
    same(flow.kron(flow.tensor(a), flow.tensor(b)), np.kron(a, b))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 3), (2, 3, 3), (0, 2, 2)])
def test_factors_of_square_matrices_give_them_back(shape, dtype):
    a = array(*shape, dtype=dtype) + 4 * np.eye(shape[-1])
    x, eye = flow.tensor(a), np.broadcast_to(np.eye(shape[-1]), shape)
    same(x @ flow.linalg.inv(x), eye)
    same(flow.linalg.inv_ex(x).inverse, np.linalg.inv(a))
    p, lower, upper = flow.linalg.lu(x)
    same(p @ lower @ upper, a)
    b = array(*shape[:-1], 2, dtype=dtype)
    factors = flow.linalg.lu_factor(x)
    for flipped, matrix in ((False, a), (True, adjoint(a))):
        same(flow.linalg.lu_solve(*factors, flow.tensor(b), adjoint=flipped), np.linalg.solve(matrix, b))
    same(flow.linalg.solve_ex(x, flow.tensor(b)).result, np.linalg.solve(a, b))
    same(flow.linalg.det(x), np.linalg.det(a))
    same(flow.linalg.matrix_power(x, -3), np.linalg.matrix_power(a, -3) if a.size else a)
    h = a @ adjoint(a)
    factor = flow.cholesky(flow.tensor(h))
    same(factor @ flow.tensor(adjoint(factor.numpy())), h)
    same(flow.cholesky_inverse(factor), np.linalg.inv(h))
    w, v = flow.linalg.eigh(flow.tensor(h))
    same(v * flow.unsqueeze(w, -2), h @ v.numpy())
    values, vectors = flow.linalg.eig(x)
    same(vectors * flow.unsqueeze(values, -2), a @ vectors.numpy())
    ldl = flow.linalg.ldl_factor(flow.tensor(h), hermitian=True)
    same(flow.linalg.ldl_solve(*ldl, flow.tensor(b), hermitian=True), np.linalg.solve(h, b))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (1, 3), (4, 2), (2, 2, 3)])
def test_factors_of_rectangular_matrices_give_them_back(shape, dtype):
    a = array(*shape, dtype=dtype)
    x = flow.tensor(a)
    for mode in ("reduced", "complete"):
        q, r = flow.linalg.qr(x, mode)
        same(q @ r, a)
    u, s, vh = flow.linalg.svd(x, False)
    same((u * flow.unsqueeze(s, -2)) @ vh, a)
    p, lower, upper = flow.linalg.lu(x)
    same(p @ lower @ upper, a)
    same(flow.linalg.pinv(x), np.linalg.pinv(a))
    assert flow.linalg.matrix_rank(x).tolist() == np.linalg.matrix_rank(a).tolist() if a.size else True


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norm_equals_numpy_s(ord, keepdim):
    a = array(2, 3, 4)
    same(
        flow.linalg.matrix_norm(flow.tensor(a), ord, (2, 0), keepdim), np.linalg.norm(a, ord, (2, 0), keepdims=keepdim)
    )


@pytest.mark.parametrize("ord", [0, 0.5, 1, 1.5, 2, 3, -1, -2, np.inf, -np.inf])
def test_vector_norm_equals_numpy_s(ord):
    a = array(3, 4)
    same(flow.linalg.vector_norm(flow.tensor(a), ord, 1), np.linalg.norm(a, ord, 1))


@pytest.mark.parametrize(
    "name", [f"{kind}{n}" for kind in "fft ifft rfft irfft hfft ihfft".split() for n in ("", "2", "n")]
)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_a_transform_equals_scipy_s(name, norm):
    a = array(2, 3, 4)
    same(getattr(flow.fft, name)(flow.tensor(a), norm=norm), getattr(fft, name)(a, norm=norm))
    same(
        getattr(flow.fft, name)(flow.tensor(a), 5 if name[-1] not in "2n" else (5, 2), norm=norm),
        getattr(fft, name)(a, 5 if name[-1] not in "2n" else (5, 2), norm=norm),
    )


def test_a_transform_refuses_empty_sizes_and_unknown_norms():
    for attrs in ({"n": 0}, {"norm": "both"}, {"dim": 3}):
        with pytest.raises(ValueError, match="fft"):
            flow.fft.fft(flow.ones((3,)), **attrs)


@pytest.mark.parametrize("center", [False, True])
def test_istft_gives_back_what_stft_took(center):
    x, window = flow.tensor(array(2, 24)), flow.signal.windows.hamming(8, sym=False, dtype=flow.float64)
    spectrum = flow.stft(x, 8, 2, window=window, center=center, return_complex=True)
    same(flow.istft(spectrum, 8, 2, window=window, center=center), x.numpy())


WINDOWS = {"bartlett": {}, "blackman": {}, "cosine": {}, "hamming": {}, "hann": {}, "nuttall": {}}
WINDOWS |= {
    "gaussian": {"std": 1.5},
    "kaiser": {"beta": 5.0},
    "exponential": {"tau": 2.0},
    "general_hamming": {"alpha": 0.6},
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("sym", [False, True])
@pytest.mark.parametrize("M", [0, 1, 2, 7])
def test_a_window_equals_scipy_s(name, sym, M):
    found = getattr(flow.signal.windows, name)(M, sym=sym, dtype=flow.float64, **WINDOWS[name])
    if name == "cosine" and not sym and M > 1:
        same(found, np.sin(np.pi * (np.arange(M) + 0.5) / (M + 1)))
    else:
        same(found, np.asarray(getattr(scipy.signal.windows, name)(M, sym=sym, **WINDOWS[name])).reshape(M))


POLYNOMIALS = {
    "chebyshev_polynomial_t": special.eval_chebyt,
    "chebyshev_polynomial_u": special.eval_chebyu,
    "shifted_chebyshev_polynomial_t": special.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": special.eval_sh_chebyu,
    "hermite_polynomial_h": special.eval_hermite,
    "hermite_polynomial_he": special.eval_hermitenorm,
    "laguerre_polynomial_l": special.eval_laguerre,
    "legendre_polynomial_p": special.eval_legendre,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_polynomial_equals_scipy_s(name):
    x, n = array(4, 1), np.array([0, 1, 2, 5, 9])
    same(getattr(flow.special, name)(flow.tensor(x), flow.tensor(n)), POLYNOMIALS[name](n, x), 1e-8)
    assert flow.special.chebyshev_polynomial_t(flow.tensor([0.5]), -1).tolist() == [0]


FUNCTIONS = {"bessel_j0": special.j0, "bessel_j1": special.j1, "bessel_y0": special.y0, "bessel_y1": special.y1}
FUNCTIONS |= {name: getattr(special, name) for name in "i0 i0e i1 i1e ndtr ndtri log_ndtr entr erfcx logit psi".split()}
FUNCTIONS |= {f"modified_bessel_k{i}": getattr(special, f"k{i}") for i in range(2)}
FUNCTIONS |= {f"scaled_modified_bessel_k{i}": getattr(special, f"k{i}e") for i in range(2)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_special_function_equals_scipy_s(name):
    x = np.asarray(RNG.uniform(0.1, 0.9, (2, 3)))
    same(getattr(flow.special, name)(flow.tensor(x)), FUNCTIONS[name](x))
    assert getattr(flow.special, name)(flow.tensor([1])).dtype is flow.float32


@pytest.mark.parametrize("name", ["solve", "solve_triangular", "cholesky_solve", "pinv", "lu_factor"])
def test_an_op_on_matrices_takes_batches_one_by_one(name):
    @examples(15)
    @given(calls(name, (flow.float64,)))
    def law(call):
        whole = call.run()[0].numpy()
        lead = np.broadcast_shapes(*[a.shape[:-2] for a in call.args])
        for i in np.ndindex(lead):
            parts = [np.broadcast_to(a, lead + a.shape[-2:])[i] for a in call.args]
            part = call._replace(args=tuple(np.ascontiguousarray(a) for a in parts)).run()[0].numpy()
            np.testing.assert_allclose(whole[i], part, rtol=1e-9, atol=1e-9)

    law()


def test_what_is_no_matrix_is_refused():
    for bad, error in (
        (flow.ones((3,)), ValueError),
        (flow.ones((2, 3)), ValueError),
        (flow.ones((2, 2)).half(), TypeError),
    ):
        with pytest.raises(error, match="inv"):
            flow.linalg.inv(bad)
    with pytest.raises(ValueError, match=r"inv|singular"):
        flow.linalg.inv(flow.zeros((2, 2)))
    with pytest.raises(ValueError, match="positive definite"):
        flow.linalg.cholesky(-flow.ones((1, 1)))


def test_products_are_added_in_place():
    x, a, b = array(2, 2), array(2, 3), array(3, 2)
    t = flow.tensor(x)
    assert t.addmm_(flow.tensor(a), flow.tensor(b), alpha=2) is t
    same(t, x + 2 * a @ b)
    with pytest.raises(ValueError, match="singular"):
        flow.linalg.lu_factor(flow.zeros((2, 2)))
