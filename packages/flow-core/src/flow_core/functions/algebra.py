"""Functions of vectors and matrices, in terms of ops: the door to products, einsum, norms, linear systems and decompositions."""

from flow_core.functions import einsum as sums
from flow_core.functions import extremes, factors, norms, products, special, spectrogram, systems
from flow_core.functions.windows import TOP as WINDOWS

HERE = {
    **{name: getattr(products, name) for name in products.NEW},
    "einsum": sums.einsum,
    "tensordot": sums.tensordot,
    **{name: getattr(norms, name) for name in ("norm", "dist", "cdist", "pdist")},
    **{name: getattr(systems, name) for name in "det logdet slogdet matrix_power matrix_exp triangular_solve".split()},
    **{name: getattr(extremes, name) for name in extremes.__all__},
    "inverse": systems.inv,
    "lu_solve": systems.lu_solve_of,
    "cholesky": factors.cholesky_of,
    **{name: getattr(factors, name) for name in "cholesky_inverse cholesky_solve lu_unpack ormqr".split()},
    "qr": factors.qr_of,
    "svd": factors.svd_of,
    "svd_lowrank": factors.low_rank,
    "lu": factors.lu_of,
    "pinverse": factors.pinv,
    "orgqr": factors.householder_product,
    **{name: getattr(spectrogram, name) for name in ("stft", "istft")},
    **{name: getattr(special, name) for name in "i0 logit polygamma igamma igammac round".split()},
}
globals().update(HERE, **WINDOWS)

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = [*HERE, *WINDOWS]
METHODS = {
    **products.METHODS,
    **extremes.METHODS,
    **{
        name: HERE[name]
        for name in """norm dist det logdet slogdet matrix_power matrix_exp triangular_solve inverse lu_solve cholesky
        cholesky_inverse cholesky_solve ormqr qr svd lu pinverse orgqr stft istft i0 logit igamma igammac round""".split()
    },
    "polygamma": lambda self, n: special.polygamma(n, self),
}
