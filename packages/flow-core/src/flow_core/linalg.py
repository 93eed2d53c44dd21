"""Linear algebra with PyTorch's names and arguments."""

from flow_core.functions import factors as _factors
from flow_core.functions import norms as _norms
from flow_core.functions import products as _products
from flow_core.functions import systems as _systems
from flow_core.functions.door import guard as _guard
from flow_core.ops.linalg import matmul as matmul

# Where each function stands.
_NAMES = {
    _factors: """cholesky cholesky_ex qr eig eigh eigvals eigvalsh svd svdvals lu lu_factor lu_factor_ex ldl_factor ldl_factor_ex
    ldl_solve householder_product matrix_rank pinv""",
    _norms: "vector_norm matrix_norm cond",
    _products: "multi_dot vecdot",
    _systems: """inv inv_ex solve solve_ex solve_triangular lu_solve det slogdet lstsq matrix_power matrix_exp tensorinv tensorsolve
    vander diagonal""",
}
globals().update({name: getattr(module, name) for module, names in _NAMES.items() for name in names.split()})
norm = _norms.linalg_norm


def cross(input, other, *, dim=-1):
    """The cross products of vectors of 3 along `dim`; the other dims broadcast."""
    return _products.cross_along(input, other, dim)


globals().update(_guard(globals()))
