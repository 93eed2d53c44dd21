"""Functions that build matrices and grids of vectors, and differences on grids; in terms of ops."""

import itertools

import numpy as np

from flow_core.dtype import CATEGORIES, float32
from flow_core.functions.shapes import along, meshgrid
from flow_core.ops import elementwise, index, shape
from flow_core.ops.creation import full, full_as
from flow_core.spec import as_count, as_dim, as_dims
from flow_core.tensor import from_numpy


def block_diag(*tensors):
    """The matrix with the tensors, of 2 dims at most, along its diagonal; vectors count as rows, numbers as matrices (1, 1)."""
    if any(t.ndim > 2 for t in tensors):
        raise ValueError(f"block_diag: {[t.spec for t in tensors]} must have 2 dims at most")
    if not tensors:
        return full(shape=(1, 0), fill_value=0, dtype=float32)
    blocks = [shape.reshape(t, shape=(1,) * (2 - t.ndim) + t.shape) for t in tensors]
    columns = [b.shape[1] for b in blocks]
    rows = []
    for i, block in enumerate(blocks):
        before, after = sum(columns[:i]), sum(columns[i + 1 :])
        sides = [zeros(block, (block.shape[0], n)) for n in (before, after)]
        rows.append(shape.cat([sides[0], block, sides[1]], dim=1))
    return shape.cat(rows, dim=0)


def zeros(like, size):
    return full(shape=size, fill_value=0, dtype=like.dtype)


def cartesian_prod(*tensors):
    """All rows of one element of each vector, in the order of nested loops; of one vector, itself."""
    if not tensors or any(t.ndim != 1 for t in tensors):
        raise ValueError(f"cartesian_prod: {[t.spec for t in tensors]} must be vectors, one at least")
    if len(tensors) == 1:
        return tensors[0]
    return shape.stack([shape.reshape(t, shape=(t.spec.size,)) for t in meshgrid(*tensors)], dim=1)


def combinations(x, r=2, with_replacement=False):
    """All rows of r elements of vector x in the order of their places, without or with the same place again."""
    if x.ndim != 1:
        raise ValueError(f"combinations: {x.spec} must be a vector")
    r = as_count("combinations", "r", r)
    if r == 0:
        return zeros(x, (0,))
    chosen = (itertools.combinations_with_replacement if with_replacement else itertools.combinations)(
        range(x.shape[0]), r
    )
    places = np.array(list(chosen), np.int64).reshape(-1, r)
    return index.take_rows(from_numpy(places), x)


MOST_POWERS = 100_000  # each is a step


def vander(x, N=None, *, increasing=False):
    """The powers of vector x (n) as columns, (n, N), falling unless `increasing`; N is n by default."""
    if x.ndim != 1:
        raise ValueError(f"vander: {x.spec} must be a vector")
    count = x.shape[0] if N is None else as_count("vander", "N", N)
    if count > MOST_POWERS:
        raise ValueError(f"vander: N is {count}, expected at most {MOST_POWERS}")
    columns = [full_as(x.detach(), fill_value=1, dtype=None)] if count else []
    for _ in range(count - 1):
        columns.append(elementwise.mul(columns[-1], x))
    if not columns:
        return zeros(x, (x.shape[0], 0))
    return shape.stack(columns if increasing else columns[::-1], dim=1)


def gradient(x, *, spacing=1, dim=None, edge_order=1):
    """The derivatives of x along each of `dim` (all by default), a list of tensors of x's shape, by differences of second order inside.

    `spacing` is the distance of neighbours (a number for all dims, or one for each), or a vector of coordinates for each dim; at the
    ends the differences are of `edge_order` 1 or 2. (Fornberg, Generation of finite difference formulas on arbitrarily spaced grids,
    1988.)
    """
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is {edge_order!r}, expected 1 or 2")
    as_dims("gradient", dim, x.ndim)  # none twice
    given = range(x.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    dims = [as_dim("gradient", d, x.ndim) for d in given]
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise ValueError(f"gradient: {len(steps)} spacings for {len(dims)} dims")
    for d in dims:
        if not x.ndim or x.shape[d] < edge_order + 1:
            raise ValueError(f"gradient: dim {d} of {x.spec} has too few elements, expected {edge_order + 1} or more")
    if CATEGORIES[x.dtype] < 2:
        x = elementwise.cast(x, dtype=float32)
    return [slopes(x, d, step, edge_order) for d, step in zip(dims, steps, strict=True)]


def slopes(x, dim, step, edge_order):
    """The derivative along one dim."""
    n = x.shape[dim]
    if hasattr(step, "spec") and step.ndim:
        if step.shape != (n,):
            raise ValueError(f"gradient: coordinates {step.spec} do not fit size {n} of dim {dim} of {x.spec}")
        gaps = np.diff(step.detach().numpy().astype(np.float64))
    else:
        gaps = np.full(n - 1, float(step.item() if hasattr(step, "spec") else step))
    # Each row of weights: which elements (by place) make up the derivative at a place.
    matrix = np.zeros((n, n))
    for i in range(1, n - 1):
        matrix[i, i - 1 : i + 2] = weights(gaps[i - 1], gaps[i])
    if edge_order == 1:
        matrix[0, :2] = -1 / gaps[0], 1 / gaps[0]
        matrix[-1, -2:] = -1 / gaps[-1], 1 / gaps[-1]
    else:
        matrix[0, :3] = first_weights(gaps[0], gaps[1])
        matrix[-1, -3:] = [-w for w in first_weights(gaps[-1], gaps[-2])[::-1]]
    inside = [[row[i + j] if 0 <= i + j < n else 0.0 for i, row in enumerate(matrix)] for j in (-1, 0, 1)]
    pieces = [piece for piece in zip((-1, 0, 1), inside, strict=True) if any(piece[1])]
    total = None
    for j, row in pieces:
        part = elementwise.mul(shifted(x, dim, j), column(x, dim, row))
        total = part if total is None else elementwise.add(total, part)
    if edge_order == 2:  # the third elements from the ends
        ends = np.zeros((2, n))
        ends[0, 0], ends[1, -1] = matrix[0, 2], matrix[-1, -3]
        for j, row in ((2, ends[0]), (-2, ends[1])):
            total = elementwise.add(total, elementwise.mul(shifted(x, dim, j), column(x, dim, row)))
    return total


def weights(before, after):
    """The weights of f(x - before), f(x), f(x + after) in f'(x)."""
    total = before + after
    return -after / (before * total), (after - before) / (before * after), before / (after * total)


def first_weights(a, b):
    """The weights of f(x), f(x + a), f(x + a + b) in f'(x)."""
    return -(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))


def shifted(x, dim, by):
    """x with its elements moved so that place i holds element i + by; those beyond the ends are the nearest."""
    if by == 0:
        return x
    n = x.shape[dim]
    edge = along(x, dim, slice(n - 1, n) if by > 0 else slice(0, 1))
    inner = along(x, dim, slice(by, None) if by > 0 else slice(None, by))
    edges = [edge] * min(abs(by), n)
    return shape.cat([inner, *edges] if by > 0 else [*edges, inner], dim=dim)


def column(x, dim, values):
    """Numbers along `dim`, in x's dtype, as a tensor that broadcasts with x."""
    dtype = {"c": "float64" if x.dtype.itemsize == 16 else "float32"}.get(x.dtype.kind, x.dtype)
    row = from_numpy(np.asarray(values).astype(dtype))
    return shape.reshape(row, shape=tuple([x.shape[dim] if d == dim else 1 for d in range(x.ndim)]))


# The names that flow_core takes over, and those that tensors have as methods.
__all__ = ["block_diag", "cartesian_prod", "combinations", "gradient", "vander"]
METHODS = {}
