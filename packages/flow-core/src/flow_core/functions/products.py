"""Products of vectors and matrices."""

from itertools import pairwise

from flow_core.dtype import CATEGORIES, bool_, promote
from flow_core.functions.triangles import conj, diagonal
from flow_core.ops import elementwise, index, inplace, linalg, reduce, shape
from flow_core.spec import as_dim, broadcast_shapes, num_elements


def check_operands(name, x, y, x_dims, y_dims):
    """ValueError unless the operands have these numbers of dims, TypeError unless they have one dtype."""
    if x.ndim != x_dims or y.ndim != y_dims:
        raise ValueError(f"{name}: {x.spec} and {y.spec}, expected tensors of {x_dims} and {y_dims} dims")
    if x.dtype is not y.dtype:
        raise TypeError(f"{name}: {x.spec} and {y.spec} must have one dtype; cast one of them first")


def product(name, x, y, x_dims, y_dims):
    check_operands(name, x, y, x_dims, y_dims)
    if x.shape[-1] != y.shape[-2 if y_dims > 1 else -1] or (x_dims == 3 and x.shape[0] != y.shape[0]):
        raise ValueError(f"{name}: {x.spec} and {y.spec} do not fit")
    return linalg.matmul(x, y)


def mm(input, mat2):
    """The product (m, n) of matrices (m, k) and (k, n). ValueError for other shapes, TypeError for two dtypes."""
    return product("mm", input, mat2, 2, 2)


def bmm(input, mat2):
    """The products (b, m, n) of matrices (b, m, k) and (b, k, n); nothing broadcasts."""
    return product("bmm", input, mat2, 3, 3)


def mv(input, vec):
    """The product (m) of a matrix (m, k) and a vector (k)."""
    return product("mv", input, vec, 2, 1)


def dot(input, tensor):
    """The sum of the products of two vectors of one length and dtype, a 0-d tensor."""
    return product("dot", input, tensor, 1, 1)


def vdot(input, other):
    """dot, with the first vector conjugated if it is complex."""
    check_operands("vdot", input, other, 1, 1)
    return dot(conj(input), other)


def inner(input, other):
    """The sums of products over the last dims, (*a, k) and (*b, k) to (*a, *b); where one is 0-d, the plain product."""
    if not input.ndim or not other.ndim:
        return elementwise.mul(input, other)
    if input.shape[-1] != other.shape[-1] or input.dtype is not other.dtype:
        raise ValueError(f"inner: {input.spec} and {other.spec} must agree in their last dim and dtype")
    rows, columns, k = input.shape[:-1], other.shape[:-1], input.shape[-1]
    left = shape.reshape(input, shape=(num_elements(rows), k))
    right = shape.reshape(other, shape=(num_elements(columns), k))
    return shape.reshape(linalg.matmul(left, right.mT), shape=rows + columns)


def outer(input, vec2):
    """All products (n, m) of the elements of two vectors (n) and (m); dtypes promote."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise ValueError(f"outer: {input.spec} and {vec2.spec}, expected two vectors")
    return elementwise.mul(shape.unsqueeze(input, -1), vec2)


def scaled_sum(name, input, product, beta, alpha):
    """beta * input + alpha * product, where input broadcasts to the product; with beta 0 input is not read."""
    if CATEGORIES[product.dtype] < 2:
        beta, alpha = int(beta), int(alpha)  # PyTorch truncates them to the tensors' dtype
    if broadcast_shapes(name, input.shape, product.shape) != product.shape:
        raise ValueError(f"{name}: input {input.spec} does not broadcast to the product, {product.spec}")
    if input.dtype is not product.dtype:
        raise TypeError(f"{name}: input {input.spec} and the product {product.spec} must have one dtype")
    product = product if alpha == 1 else elementwise.mul(product, alpha)
    if beta == 0:
        return product
    return elementwise.add(input if beta == 1 else elementwise.mul(input, beta), product)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2); input broadcasts to the product, and is not read where beta is 0."""
    return scaled_sum("addmm", input, product("addmm", mat1, mat2, 2, 2), beta, alpha)


def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * (mat @ vec), as addmm."""
    return scaled_sum("addmv", input, product("addmv", mat, vec, 2, 1), beta, alpha)


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * (batch1 @ batch2), matrix by matrix, as addmm."""
    return scaled_sum("baddbmm", input, product("baddbmm", batch1, batch2, 3, 3), beta, alpha)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * the sum of the products of batch1's and batch2's matrices."""
    total = reduce.sum(product("addbmm", batch1, batch2, 3, 3), dim=0)
    return scaled_sum("addbmm", input, total, beta, alpha)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """beta * input + alpha * outer(vec1, vec2), as addmm; dtypes promote. Of bools, + is or and * is and."""
    products = outer(vec1, vec2)
    dtype = promote(input.dtype, products.dtype)
    if dtype is bool_:
        if any(not isinstance(number, bool) and number not in (0, 1) for number in (beta, alpha)):
            raise TypeError(f"addr: beta {beta} and alpha {alpha} must be bools, for the tensors hold bools")
        products = elementwise.mul(products, bool(alpha))
        return elementwise.add(elementwise.mul(input, bool(beta)), products) if beta else products
    if CATEGORIES[dtype] < 2 and (isinstance(beta, float) or isinstance(alpha, float)):
        raise TypeError(f"addr: beta {beta} and alpha {alpha} must be ints, for the tensors hold integers")
    input, products = (t if t.dtype is dtype else elementwise.cast(t, dtype=dtype) for t in (input, products))
    return scaled_sum("addr", input, products, beta, alpha)


def kron(input, other):
    """The Kronecker product: each element of input times the whole of other; sizes multiply, the shorter shape gets leading 1s."""
    ndim = max(input.ndim, other.ndim)
    a, b = ((1,) * (ndim - t.ndim) + t.shape for t in (input, other))
    left = shape.reshape(input, shape=tuple(s for n in a for s in (n, 1)))
    right = shape.reshape(other, shape=tuple(s for n in b for s in (1, n)))
    return shape.reshape(elementwise.mul(left, right), shape=tuple(n * m for n, m in zip(a, b, strict=True)))


def cross(input, other, dim=None):
    """The cross products of vectors of 3 along `dim`, by default the first dim of size 3; other dims broadcast."""
    if dim is None:
        if input.ndim != other.ndim:
            raise ValueError(f"cross: {input.spec} and {other.spec} differ in their number of dims; give dim")
        shared = broadcast_shapes("cross", input.shape, other.shape)
        dim = next((d for d, n in enumerate(shared) if n == 3), None)
        if dim is None:
            raise ValueError(f"cross: {input.spec} and {other.spec} have no dim of size 3")
    return cross_along(input, other, dim)


def cross_along(input, other, dim):
    """cross along one dim, which must have size 3 in both."""
    if input.ndim != other.ndim or not input.ndim:
        raise ValueError(f"cross: {input.spec} and {other.spec} must have the same number of dims, 1 at least")
    dim = as_dim("cross", dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise ValueError(f"cross: {input.spec} and {other.spec} must have size 3 in dim {dim}")
    broadcast_shapes("cross", input.shape, other.shape)

    def turned(x, by):
        first, last = ((slice(None),) * dim + (s,) for s in (slice(by), slice(by, None)))
        return shape.cat([index.getitem(x, last), index.getitem(x, first)], dim=dim)

    forward = elementwise.mul(turned(input, 1), turned(other, 2))
    return elementwise.sub(forward, elementwise.mul(turned(input, 2), turned(other, 1)))


def trace(input):
    """The sum of the diagonal of a matrix, a 0-d tensor; integers give int64."""
    if input.ndim != 2:
        raise ValueError(f"trace: {input.spec}, expected a matrix")
    return reduce.sum(diagonal(input))


def chain_matmul(*matrices):
    """The product of matrices, in the order of the fewest multiplications."""
    matrices = list(matrices[0]) if matrices and isinstance(matrices[0], (list, tuple)) else list(matrices)
    if not matrices:
        raise ValueError("chain_matmul: no matrices given")
    if any(m.ndim != 2 for m in matrices):
        raise ValueError(f"chain_matmul: {', '.join(str(m.spec) for m in matrices)}, expected matrices")
    return in_best_order("chain_matmul", matrices)


def in_best_order(name, matrices):
    """The product of matrices by the classic dynamic programme over where to cut (Cormen et al., 15.2)."""
    for a, b in pairwise(matrices):
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"{name}: {a.spec} and {b.spec} do not fit: {a.shape[1]} columns, {b.shape[0]} rows")
    sizes = [matrices[0].shape[0], *[m.shape[1] for m in matrices]]
    cost, cut = {(i, i): 0 for i in range(len(matrices))}, {}
    for length in range(1, len(matrices)):
        for i in range(len(matrices) - length):
            j = i + length
            options = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i, j] = min(options)
            cut[i, j] = i + options.index(cost[i, j])

    def build(i, j):
        if i == j:
            return matrices[i]
        return mm(build(i, cut[i, j]), build(cut[i, j] + 1, j))

    return build(0, len(matrices) - 1)


def multi_dot(tensors):
    """The product of two or more matrices in the best order; the first and the last may be vectors, a row and a column."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise ValueError(f"multi_dot: {len(tensors)} tensors given, expected 2 or more")
    first, last = tensors[0], tensors[-1]
    if any(t.ndim != 2 for t in tensors[1:-1]) or first.ndim not in (1, 2) or last.ndim not in (1, 2):
        raise ValueError(
            f"multi_dot: {', '.join(str(t.spec) for t in tensors)}, expected matrices, vectors at the ends only"
        )
    tensors[0] = shape.unsqueeze(first, 0) if first.ndim == 1 else first
    tensors[-1] = shape.unsqueeze(last, 1) if last.ndim == 1 else last
    out = in_best_order("multi_dot", tensors)
    sizes = (out.shape[:1] if first.ndim == 2 else ()) + (out.shape[1:] if last.ndim == 2 else ())
    return shape.reshape(out, shape=sizes)


def vecdot(x, y, *, dim=-1):
    """The sum over `dim` of conj(x) * y; the other dims broadcast."""
    as_dim("vecdot", dim, max(x.ndim, y.ndim))
    return reduce.sum(elementwise.mul(conj(x), y), dim=dim)


ger = outer
NEW = """mm bmm mv dot vdot inner outer ger addmm addmv baddbmm addbmm addr kron cross trace chain_matmul""".split()


def writing(function):
    """The method that writes the function's result over its first argument, and returns that."""

    def method(self, *args, **attrs):
        inplace.copy_(self, function(self.detach(), *args, **attrs))
        return self

    method.__name__ = function.__name__ + "_"
    method.__doc__ = (
        f"Writes {function.__name__} of the tensor over it. ValueError if it requires grad and calls are recorded."
    )
    return method


METHODS = {
    **{f"{f.__name__}_": writing(f) for f in (addmm, addmv, addbmm, baddbmm, addr)},
    **{name: globals()[name] for name in NEW if name != "chain_matmul"},
    "__rmatmul__": lambda self, other: linalg.matmul(other, self),
}
