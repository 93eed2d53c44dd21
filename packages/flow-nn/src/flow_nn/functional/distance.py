"""How far, or how alike, vectors are."""

import flow_core as flow
from flow_core.functions.norms import magnitude, power_norm, vector_norm
from flow_core.spec import as_dim
from flow_nn.functional.geometry import as_type, require_float, widened
from flow_nn.functional.reduction import at_least, dtype_of


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between the vectors along `dim` of x1 and x2, which broadcast; a norm below eps counts as eps.

    TypeError unless they promote to floats.
    """
    dtype = dtype_of(x1, x2)
    if dtype.kind in "biuc":
        raise TypeError(f"cosine_similarity: {x1.spec} and {x2.spec}, expected floats")
    x1, x2 = flow.broadcast_tensors(widened(as_type(x1, dtype)), widened(as_type(x2, dtype)))
    dim = as_dim("cosine_similarity", dim, x1.ndim)
    units = [x / at_least(vector_norm(x, 2, dim, True), float(eps)) for x in (x1, x2)]
    product = units[0] * units[1]
    return as_type(flow.sum(product, dim=dim) if x1.ndim else product, dtype)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of order p of x1 - x2 + eps along the last dim; the shapes broadcast. Integers give float32, complex numbers real ones."""
    dtype = dtype_of(x1, x2)
    gap = widened(x1) - widened(x2) + float(eps)
    if not gap.ndim:
        return as_type(power_norm(magnitude(gap), float(p), (), keepdim), gap.dtype)
    size = power_norm(magnitude(gap), float(p), (gap.ndim - 1,), bool(keepdim))
    return as_type(size, dtype) if dtype.itemsize == 2 and dtype.kind in "fV" else size


def pdist(input, p=2.0):
    """The distances of order p between each two rows of a matrix (n, k), n (n - 1) / 2 of them, in the order of the pairs."""
    require_float("pdist", input)
    if not p >= 0:
        raise ValueError(f"pdist: p is {p}, expected 0 or more")
    return flow.pdist(input, p)


__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]
