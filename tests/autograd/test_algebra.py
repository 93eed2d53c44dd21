"""Products, linear algebra, transforms and special functions have the derivatives that finite differences find, to second order."""

import numpy as np
import pytest

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads

EYE = flow.tensor(np.eye(3))


def definite(x):
    return x @ x.mT + EYE


def symmetric(x):
    return x + x.mT + flow.tensor(np.diag([0.0, 9.0, 20.0]))


def regular(x):
    return x + 6 * EYE


def spectrum(result):
    """What does not depend on the signs of vectors: values, and projections on the first vector."""
    w, v = result
    return w, v[..., :1] @ v[..., :1].mT


def singular(result):
    u, s, vh = result
    return s, u[..., :1] @ vh[..., :1, :]


def lu(x):
    data, pivots = flow.linalg.lu_factor(x)
    return flow.lu_unpack(data, pivots)[1:]


SQUARE, WIDE, TALL = [(2, 3, 3)], [(2, 4)], [(4, 2)]
CASES = {
    "mm": (flow.mm, [(2, 3), (3, 4)]),
    "bmm": (flow.bmm, [(2, 2, 3), (2, 3, 1)]),
    "mv": (flow.mv, [(2, 3), (3,)]),
    "dot": (flow.dot, [(3,), (3,)]),
    "inner": (flow.inner, [(2, 3), (4, 3)]),
    "outer": (flow.outer, [(2,), (3,)]),
    "addmm": (lambda *a: flow.addmm(*a, beta=0.5, alpha=2), [(4,), (2, 3), (3, 4)]),
    "addmv": (lambda *a: flow.addmv(*a, beta=0.5, alpha=2), [(2,), (2, 3), (3,)]),
    "addbmm": (flow.addbmm, [(2, 4), (2, 2, 3), (2, 3, 4)]),
    "baddbmm": (flow.baddbmm, [(2, 4), (2, 2, 3), (2, 3, 4)]),
    "addr": (flow.addr, [(2, 3), (2,), (3,)]),
    "kron": (flow.kron, [(2, 3), (2,)]),
    "cross": (flow.cross, [(2, 3), (2, 3)]),
    "trace": (flow.trace, [(2, 3)]),
    "einsum": (lambda *a: flow.einsum("bik,bkj,j->bi", *a), [(2, 2, 3), (2, 3, 2), (2,)]),
    "einsum of a diagonal": (lambda a: flow.einsum("ii->i", a), [(3, 3)]),
    "tensordot": (flow.tensordot, [(2, 3, 2), (3, 2, 2)]),
    "multi_dot": (lambda *a: flow.linalg.multi_dot(a), [(2, 3), (3, 4), (4,)]),
    "cdist": (flow.cdist, [(2, 3), (4, 3)]),
    "cdist of order 3": (lambda a, b: flow.cdist(a, b, 3), [(2, 3), (4, 3)]),
    "vector_norm": (flow.linalg.vector_norm, [(2, 3)]),
    "vector_norm of order 1.5": (lambda a: flow.linalg.vector_norm(a, 1.5, 0), [(2, 3)]),
    "vector_norm of order -2": (lambda a: flow.linalg.vector_norm(a, -2, 0), [(2, 3)]),
    "nuclear norm": (lambda a: flow.norm(a, "nuc"), TALL),
    "matrix_norm": (lambda a: flow.linalg.matrix_norm(a, 2), TALL),
    "cond": (lambda a: flow.linalg.cond(regular(a)), SQUARE),
    "inverse": (lambda a: flow.inverse(regular(a)), SQUARE),
    "det": (lambda a: flow.det(regular(a) / 4), SQUARE),
    "logdet": (lambda a: flow.logdet(regular(a)), SQUARE),
    "solve": (lambda a, b: flow.linalg.solve(regular(a), b), [(2, 3, 3), (3, 2)]),
    "solve from the right": (lambda a, b: flow.linalg.solve(regular(a), b, left=False), [(2, 3, 3), (4, 3)]),
    "solve_ex": (lambda a, b: flow.linalg.solve_ex(regular(a), b).result, [(2, 3, 3), (3, 2)]),
    "cholesky": (lambda a: flow.cholesky(definite(a)), SQUARE),
    "upper cholesky": (lambda a: flow.cholesky(definite(a), True), SQUARE),
    "cholesky_solve": (lambda a, b: flow.cholesky_solve(b, flow.cholesky(definite(a))), [(3, 3), (3, 2)]),
    "cholesky_inverse": (lambda a: flow.cholesky_inverse(flow.cholesky(definite(a), True), True), [(3, 3)]),
    "reduced qr": (flow.linalg.qr, TALL),
    "wide qr": (flow.linalg.qr, WIDE),
    "complete qr": (lambda a: flow.linalg.qr(regular(a), "complete"), SQUARE),
    "eigh": (lambda a: spectrum(flow.linalg.eigh(symmetric(a))), SQUARE),
    "eigvalsh": (lambda a: flow.linalg.eigvalsh(symmetric(a), "U"), SQUARE),
    "svd": (lambda a: singular(flow.linalg.svd(a, False)), TALL),
    "wide svd": (lambda a: singular(flow.linalg.svd(a)), WIDE),
    "lu": (lambda a: lu(regular(a)), SQUARE),
    "wide lu": (lu, WIDE),
    "tall lu": (lu, TALL),
    "lu_solve": (lambda a, b: flow.linalg.lu_solve(*flow.linalg.lu_factor(regular(a)), b), [(3, 3), (3, 2)]),
    "pinv": (flow.linalg.pinv, TALL),
    "wide pinv": (flow.linalg.pinv, WIDE),
    "lstsq": (lambda a, b: flow.linalg.lstsq(a, b)[:2], [(4, 2), (4, 3)]),
    "matrix_power": (lambda a: flow.linalg.matrix_power(regular(a), -2), SQUARE),
    "matrix_exp": (lambda a: flow.matrix_exp(a / 2), SQUARE),
    "householder_product": (flow.linalg.householder_product, [(4, 2), (2,)]),
    "vander": (flow.linalg.vander, [(3,)]),
    "diagonal": (lambda a: flow.linalg.diagonal(a, offset=1), [(2, 3, 4)]),
    "irfft": (lambda a: flow.fft.irfft(a, 5), [(2, 4)]),
    "hfft2": (flow.fft.hfft2, [(2, 3)]),
    "stft": (lambda a: flow.stft(a, 4, return_complex=False, onesided=False), [(9,)]),
    "logit": (lambda a: flow.logit(a * 0.4 + 0.5), [(3,)]),
    "xlog1py": (lambda a, b: flow.special.xlog1py(a, b * b), [(3,), (3,)]),
    "spherical_bessel_j0": (flow.special.spherical_bessel_j0, [(3,)]),
    "zeta": (lambda a: flow.special.zeta(2.5, a * a + 1), [(3,)]),
    "igamma": (lambda a: flow.igamma(flow.full_like(a.detach(), 1.5), a * a + 1), [(3,)]),
    "igammac": (lambda a: flow.igammac(flow.full_like(a.detach(), 1.5), a * a + 1), [(3,)]),
    "logsumexp": (lambda a: flow.special.logsumexp(a, 1), [(2, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_finite_differences(name):
    function, shapes = CASES[name]
    rng = np.random.default_rng(5)
    check_grads(function, *[rng.uniform(-1, 1, shape) for shape in shapes], order=2, rtol=1e-5)


def test_the_gradients_of_norms_and_distances_are_0_where_those_are():
    for p in (0, 0.5, 1, 1.5, 2, 3, float("inf")):
        x = flow.zeros((2, 3), dtype=flow.float64).requires_grad_()
        (flow.cdist(x, x.detach(), p).sum() + flow.linalg.vector_norm(x, p)).backward()
        assert np.isfinite(x.grad.numpy()).all()


def test_a_singular_matrix_s_determinant_has_its_cofactors_as_gradient():
    x = flow.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=flow.float64, requires_grad=True)
    flow.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-12)


def test_eigenvalues_at_an_end_have_gradients():
    a = np.random.default_rng(6).standard_normal((6, 6))
    a += a.T
    x = flow.tensor(a, requires_grad=True)
    (g,) = autograd.grad(flow.lobpcg(x, 2)[0].sum(), [x])
    v = np.linalg.eigh(a)[1][:, -2:]
    np.testing.assert_allclose(g.numpy(), v @ v.T, atol=1e-9)
