"""Derivatives of flow_core.ops.decomposition, for real matrices, where the decomposition is smooth: full rank, distinct values.

Cholesky, eigenvalues: Giles (2008), Murray, Differentiation of the Cholesky decomposition (2016); QR: Walter and Lehmann,
Algorithmic differentiation of linear algebra functions (2012); singular values: Seeger et al., Auto-differentiating linear algebra
(2017); pseudo-inverse: Golub and Pereyra (1973). Where the matrix is symmetric its gradient is too, as if both triangles were read.
"""

import numpy as np

import flow_core as flow
from flow_autograd.vjp import defvjp, defvjp_joint, no_vjp
from flow_core.functions.triangles import embedded, identity_mask, lower, transposed
from flow_core.ops import decomposition
from flow_core.ops.solve import solve_triangular


def cholesky(g, out, _x, upper, check):
    if g[0] is None:
        return (None,)
    f, g = (transposed(out[0]), transposed(g[0])) if upper else (out[0], g[0])
    phi = lower(transposed(f) @ g)
    phi = flow.where(identity_mask(f.shape[-1]), phi * 0.5, phi)
    half = solve_triangular(f, solve_triangular(transposed(f), phi, upper=True), upper=False, left=False)
    return ((half + transposed(half)) * 0.5,)


def qr(g, out, _x, complete):
    (gq, gr), (q, r) = g, out
    m, n = _x.shape[-2:]
    if complete and m > n:
        raise ValueError(
            f"qr: mode complete of {_x} has no derivative: the columns beyond {n} are arbitrary; use mode reduced"
        )
    if gq is None and gr is None:
        return (None,)
    k = min(m, n)
    beside = None
    if n > k:  # A = Q [R1 R2]: the columns beside the square are Q R2
        if gr is not None:
            a2, g2 = q @ r[..., k:], gr[..., k:]
            beside = q @ g2
            gq = a2 @ transposed(g2) if gq is None else gq + a2 @ transposed(g2)
            gr = gr[..., :k]
        r = r[..., :k]
    middle = 0
    if gr is not None:
        middle = r @ transposed(gr)
    if gq is not None:
        middle = middle - transposed(gq) @ q
    symmetric = lower(middle) + transposed(lower(middle, -1))
    inner = q @ symmetric
    inner = inner if gq is None else gq + inner
    ga = solve_triangular(transposed(r), inner, upper=False, left=False)
    if n > k:
        beside = flow.from_numpy(np.zeros((*ga.shape[:-1], n - k), _x.dtype)) if beside is None else beside
        ga = flow.cat([ga, beside], dim=-1)
    return (ga,)


def inverse_gaps(s):
    """1 / (s_j - s_i), 0 on the diagonal."""
    gaps = flow.unsqueeze(s, -2) - flow.unsqueeze(s, -1)
    mask = identity_mask(s.shape[-1])
    return flow.where(mask, 0, 1 / flow.where(mask, 1, gaps))


def eigh(g, out, _x, upper):
    (gw, gv), (w, v) = g, out
    if gw is None and gv is None:
        return (None,)
    inner = 0 if gw is None else embedded(gw)
    if gv is not None:
        inner = inner + inverse_gaps(w) * (transposed(v) @ gv)
    return (v @ inner @ transposed(v),)


def svd(g, out, _x, full_matrices):
    (gu, gs, gvh), (u, s, vh) = g, out
    k = s.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    v = transposed(vh)
    inner, outer = 0, 0
    if gs is not None:
        inner = embedded(gs)
    if gu is not None or gvh is not None:
        f = inverse_gaps(s * s)
        rows, columns = flow.unsqueeze(s, -1), flow.unsqueeze(s, -2)
    if gu is not None:
        gu = gu[..., :k]
        j = f * (transposed(u) @ gu)
        inner = inner + (j + transposed(j)) * columns
        if u.shape[-2] > k:
            outer = ((gu - u @ (transposed(u) @ gu)) / columns) @ vh
    if gvh is not None:
        gv = transposed(gvh[..., :k, :])
        j = f * (vh @ gv)
        inner = inner + rows * (j + transposed(j))
        if v.shape[-2] > k:
            outer = outer + u @ transposed((gv - v @ (vh @ gv)) / columns)
    return (None if isinstance(inner, int) else u @ inner @ vh + outer,)


def pinv(g, p, x, atol, rtol, hermitian):
    pt, gt = transposed(p), transposed(g)
    left = gt @ p @ pt  # (m, m)
    right = pt @ p @ gt  # (m, n)
    return -(pt @ g @ pt) + (left - x @ (p @ left)) + (right - (right @ p) @ x)


def matrix_exp(g, _out, x):
    """The upper right of the exponential of [[x^T, g], [0, x^T]] (Al-Mohy and Higham, 2009)."""
    n, t = x.shape[-1], transposed(x)
    whole = flow.cat([flow.cat([t, g], dim=-1), flow.cat([flow.zeros_like(t), t], dim=-1)], dim=-2)
    return decomposition.matrix_exp(whole)[..., :n, n:]


defvjp(decomposition.conjugate, lambda g, _out, _x: decomposition.conjugate(g) if g.dtype.kind == "c" else g)
defvjp_joint(decomposition.cholesky, cholesky)
defvjp_joint(decomposition.qr, qr)
defvjp_joint(decomposition.eigh, eigh)
defvjp_joint(decomposition.svd, svd)
defvjp(decomposition.pinv, pinv)
defvjp(decomposition.matrix_exp, matrix_exp)
no_vjp("complex numbers have no gradient", decomposition.eig, decomposition.modulus)
no_vjp("its outputs are LAPACK's encoding of a QR decomposition: differentiate qr", decomposition.geqrf)
