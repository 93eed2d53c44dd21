"""Norms of vectors and matrices, and distances."""

import math

from flow_core.dtype import CATEGORIES, as_dtype
from flow_core.functions import factors
from flow_core.ops import binary, decomposition, elementwise, index, reduce, shape, unary
from flow_core.ops import solve as solving
from flow_core.spec import as_dim, as_dims


def magnitude(x):
    """|x|, real also for complex x."""
    return decomposition.modulus(x) if x.dtype.kind == "c" else elementwise.abs(x)


def checked_float(name, x, dtype):
    """x in `dtype`; TypeError for integers."""
    if dtype is not None:
        x = elementwise.cast(x, dtype=as_dtype(dtype))
    if CATEGORIES[x.dtype] < 2:
        raise TypeError(f"{name}: {x.spec} holds integers; cast it to a float type first, or give dtype")
    return x


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of order `ord` (any number, inf and -inf too; 0 counts what is not 0) over `dim`, by default all, in floats.

    Where the norm is 0 its gradient is 0. TypeError for integers, ValueError for an order below 1 of nothing.
    """
    x = checked_float("vector_norm", x, dtype)
    if isinstance(ord, (bool, str)) or not isinstance(ord, (int, float)):
        raise TypeError(f"vector_norm: ord is {ord!r}, expected a number")
    return power_norm(magnitude(x), float(ord), as_dims("vector_norm", dim, x.ndim), keepdim)


def power_norm(a, p, dims, keepdim):
    """The norm of order p of a >= 0."""
    if math.isinf(p):
        return (reduce.amax if p > 0 else reduce.amin)(a, dim=dims, keepdim=keepdim)
    if p == 1:
        return reduce.sum(a, dim=dims, keepdim=keepdim)
    if p == 2:
        total = reduce.sum(elementwise.mul(a, a), dim=dims, keepdim=keepdim)
    elif p > 1:
        total = reduce.sum(elementwise.pow(a, p), dim=dims, keepdim=keepdim)
    else:  # at 0 these powers have no derivative, and their value is a constant
        zero = elementwise.eq(a, 0)
        powers = elementwise.pow(elementwise.where(zero, 1.0, a), p)
        total = reduce.sum(elementwise.where(zero, 0.0 if p >= 0 else math.inf, powers), dim=dims, keepdim=keepdim)
    if p == 0:
        return total
    flat = binary.logical_or(elementwise.eq(total, 0), unary.isinf(total)) if p < 0 else elementwise.eq(total, 0)
    safe = elementwise.where(flat, 1.0, total)
    root = elementwise.sqrt(safe) if p == 2 else elementwise.pow(safe, 1 / p)
    at_flat = elementwise.pow(elementwise.mul(total, 1.0).detach(), 1 / p) if p < 0 else 0.0
    return elementwise.where(flat, at_flat, root)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices in two dims: "fro", "nuc" (sum of singular values), 2, -2 (the largest, smallest), 1, -1 (sums of columns),
    inf, -inf (of rows)."""
    A = checked_float("matrix_norm", A, dtype)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise ValueError(f"matrix_norm: dim is {dim!r}, expected two dims")
    rows, columns = (as_dim("matrix_norm", d, A.ndim) for d in dim)
    if A.ndim < 2 or rows == columns:
        raise ValueError(f"matrix_norm: dim {dim} names no two dims of {A.spec}")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2) and not isinstance(ord, bool):
        others = [d for d in range(A.ndim) if d not in (rows, columns)]
        s = factors.svdvals(shape.permute(A, dims=(*others, rows, columns)))
        if ord == "nuc":
            out = reduce.sum(s, dim=-1)
        else:
            out = (reduce.amax if ord == 2 else reduce.amin)(s, dim=-1)
        return shape.reshape(out, shape=kept(A, (rows, columns))) if keepdim else out
    if ord not in (1, -1, math.inf, -math.inf) or isinstance(ord, bool):
        raise ValueError(f'matrix_norm: ord is {ord!r}, expected "fro", "nuc", inf, -inf, 1, -1, 2 or -2')
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = reduce.sum(magnitude(A), dim=first, keepdim=True)
    out = (reduce.amax if ord > 0 else reduce.amin)(sums, dim=second, keepdim=True)
    return out if keepdim else shape.squeeze(out, (rows, columns))


def kept(A, dims):
    """A's shape with size 1 in these dims."""
    return tuple(1 if d in dims else n for d, n in enumerate(A.shape))


def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm (2 by default), or the matrix norm `ord` where `dim` names two dims, or A is a matrix and dim is None."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    dims = dim if dim is not None else (tuple(range(A.ndim)) if A.ndim == 2 else None)
    if isinstance(ord, str) or (isinstance(dims, (tuple, list)) and len(dims) == 2):
        if dim is None and A.ndim != 2:
            raise ValueError(f"norm: ord {ord!r} of {A.spec} needs dim, two dims")
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if dim is None and A.ndim > 2:
        raise ValueError(f"norm: ord {ord!r} of {A.spec} needs dim, for it has more than two dims")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The vector norm of order p over `dim` (all by default), or with "nuc" the sum of singular values; "fro" is 2."""
    if out is not None:
        raise TypeError("norm: out is not supported; write x.copy_(norm(...)) under no_grad()")
    if p == "nuc":
        if dim is None and input.ndim != 2:
            raise ValueError(f"norm: p nuc of {input.spec} needs dim, two dims")
        return matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise ValueError(f'norm: p is {p!r}, expected "fro", "nuc" or a number')
    return vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype)


def dist(input, other, p=2):
    """The norm of order p of input - other, which broadcast: a 0-d tensor."""
    return vector_norm(elementwise.sub(input, other), p)


def cond(A, p=None):
    """The condition number for the norm p: norm(A) * norm(inverse of A), inf if A is singular; by default 2."""
    solving.check_matrices("cond", A)
    if p in (None, 2, -2):
        s = factors.svdvals(A)
        largest, least = index.getitem(s, (..., 0)), index.getitem(s, (..., -1))
        return elementwise.div(least, largest) if p == -2 else elementwise.div(largest, least)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise ValueError(f'cond: p is {p!r}, expected "fro", "nuc", inf, -inf, 1, -1, 2, -2 or None')
    solving.check_square("cond", A)
    info = solving.lu_factor(A.detach(), check=False)[2]
    if bool((info.data != 0).any()):
        return elementwise.where(elementwise.ne(info, 0), math.inf, matrix_norm(A, p))
    return elementwise.mul(matrix_norm(A, p), matrix_norm(solving.inv(A), p))


MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def cdist(x1, x2, p=2.0, compute_mode=MODES[0]):
    """The distances (*batch, m, n) of order p between the rows of x1 (*batch, m, k) and x2 (*batch, n, k); 0 has gradient 0."""
    if compute_mode not in MODES and compute_mode is not None:
        raise ValueError(f"cdist: compute_mode is {compute_mode!r}, expected one of {', '.join(MODES)}")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"cdist: {x1.spec} and {x2.spec}, expected rows of one length in 2 dims or more")
    if any(CATEGORIES[x.dtype] != 2 for x in (x1, x2)):
        raise TypeError(f"cdist: {x1.spec} and {x2.spec}, expected floats")
    if not p >= 0:
        raise ValueError(f"cdist: p is {p}, expected 0 or more")
    gaps = elementwise.sub(shape.unsqueeze(x1, -2), shape.unsqueeze(x2, -3))
    if not gaps.shape[-1]:
        return reduce.sum(gaps, dim=-1)
    return power_norm(elementwise.abs(gaps), float(p), (gaps.ndim - 1,), False)


def pdist(input, p=2.0):
    """The distances of order p between each two rows of a matrix (n, k), n (n - 1) / 2 of them, in the order of the pairs."""
    if input.ndim != 2:
        raise ValueError(f"pdist: {input.spec}, expected a matrix")
    n = input.shape[0]
    rows = [
        cdist(index.getitem(input, slice(i, i + 1)), index.getitem(input, slice(i + 1, None)), p) for i in range(n - 1)
    ]
    return (
        shape.cat([shape.reshape(row, shape=(row.numel(),)) for row in rows], dim=0)
        if rows
        else index.getitem(shape.reshape(input, shape=(input.numel(),)), slice(0))
    )
