"""Derivatives of flow_core.ops.solve, for real matrices.

Giles, An extended collection of matrix derivative results (2008), 2.2 (inverse, determinant, solution); LU: derived from
dA = P (dL U + L dU) with dL strictly lower and dU upper triangular, as in Seeger et al. (2017) for Cholesky.
"""

import flow_core as flow
from flow_autograd.vjp import defvjp, defvjp_joint, no_vjp, unbroadcast
from flow_core.functions.triangles import identity, lower, transposed, upper
from flow_core.ops import solve


def spread(g):
    """A number for each matrix, as a matrix that broadcasts."""
    return flow.reshape(g, shape=(*g.shape, 1, 1))


def solve_matrix(g, out, a, _b):
    return unbroadcast(-(solve.solve(transposed(a), g) @ transposed(out)), a.spec)


def triangular_matrix(g, out, a, _b, upper, left, unitriangular):
    h = solve.solve_triangular(transposed(a), g, upper=not upper, left=left, unitriangular=unitriangular)
    ga = -(h @ transposed(out) if left else transposed(out) @ h)
    return unbroadcast(triangle(ga, upper, unitriangular), a.spec)


def triangle(x, is_upper, strict):
    return upper(x, int(strict)) if is_upper else lower(x, -int(strict))


def triangular_right(g, _out, a, _b, upper, left, unitriangular):
    h = solve.solve_triangular(transposed(a), g, upper=not upper, left=left, unitriangular=unitriangular)
    return unbroadcast(h, _b)


def cholesky_solve(g, out, _b, f, upper):
    """That of the solution for A = f f^T (or f^T f), as if all of f was read."""
    gb = solve.cholesky_solve(g, f, upper=upper)
    ga = gb @ transposed(out)
    ga = -(ga + transposed(ga))
    return unbroadcast(gb, _b), unbroadcast(f @ ga if upper else ga @ f, f.spec)


def cofactor(g, _out, x):
    """From cofactor = det T, T the inverse transposed. ValueError for singular x, where no second derivative of det is known."""
    t = transposed(solve.inv(x))
    inner = flow.sum(g * t, dim=(-2, -1), keepdim=True)
    return spread(solve.det(x)) * (inner * t - t @ transposed(g) @ t)


def slogdet(g, _out, x):
    return (None if g[1] is None else spread(g[1]) * transposed(solve.inv(x)),)


def lu_factor(g, out, x, check):
    if g[0] is None:
        return (None,)
    (g, _, _), (lu, pivots, _) = g, out
    m, n = x.shape[-2:]
    k = min(m, n)
    # The leading square holds L1 and U1; beside it is U2 = L1^-1 A2, or below it L2 = A2 U1^-1.
    lt, u = upper(transposed(lu[..., :k, :k]), 1) + identity(lu[..., :k]), upper(lu[..., :k, :k])
    middle_lower = lt @ lower(g[..., :k, :k], -1)
    middle_upper = upper(g[..., :k, :k]) @ transposed(u)
    if n > k:
        middle_lower = middle_lower - g[..., :, k:] @ transposed(lu[..., :, k:])
    if m > k:
        middle_upper = middle_upper - transposed(lu[..., k:, :]) @ g[..., k:, :]
    inner = lower(middle_lower, -1) + upper(middle_upper)
    # L^-T inner U^-T
    inner = solve.solve_triangular(lt, inner, upper=True, unitriangular=True)
    inner = solve.solve_triangular(transposed(u), inner, upper=False, left=False)
    if n > k:
        beside = solve.solve_triangular(lt, g[..., :, k:], upper=True, unitriangular=True)
        inner = flow.cat([inner, beside], dim=-1)
    if m > k:
        below = solve.solve_triangular(transposed(u), g[..., k:, :], upper=False, left=False)
        inner = flow.cat([inner, below], dim=-2)
    return (solve.permutation(pivots, rows=m, dtype=x.dtype) @ inner,)


defvjp(solve.inv, lambda g, out, _x: -(transposed(out) @ g @ transposed(out)))
defvjp(solve.solve, solve_matrix, lambda g, _out, a, _b: unbroadcast(solve.solve(transposed(a), g), _b))
defvjp(solve.solve_triangular, triangular_matrix, triangular_right)
defvjp_joint(solve.cholesky_solve, cholesky_solve)
defvjp(solve.det, lambda g, _out, x: spread(g) * solve.cofactor(x))
defvjp(solve.cofactor, cofactor)
defvjp_joint(solve.slogdet, slogdet)
defvjp_joint(solve.lu_factor, lu_factor)
no_vjp("its pivots are integers", solve.permutation)
no_vjp("the packed form of LAPACK has no derivative of use; PyTorch has none either", solve.ldl_factor, solve.ldl_solve)
