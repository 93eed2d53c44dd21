"""Special functions with PyTorch's names and arguments."""

from flow_core.functions import pointwise as _pointwise
from flow_core.functions import special as _functions
from flow_core.functions.door import guard as _guard
from flow_core.ops import elementwise as _elementwise
from flow_core.ops import nn as _nn
from flow_core.ops import special as _ops
from flow_core.ops import unary as _unary

# Where each function stands.
_NAMES = {
    _ops: """i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 ndtr ndtri log_ndtr entr erfcx zeta gammainc gammaincc
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w hermite_polynomial_h
    hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p""",
    _functions: "polygamma logit xlog1py airy_ai spherical_bessel_j0 multigammaln logsumexp round",
    _pointwise: "digamma sinc xlogy",
    _unary: "erfc erfinv exp2 expm1 log1p",
    _elementwise: "erf",
    _nn: "softmax log_softmax",
}
globals().update({name: getattr(module, name) for module, names in _NAMES.items() for name in names.split()})
psi, gammaln, expit = _pointwise.digamma, _unary.lgamma, _elementwise.sigmoid
modified_bessel_i0, modified_bessel_i1, modified_bessel_k0, modified_bessel_k1 = _ops.i0, _ops.i1, _ops.k0, _ops.k1
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _ops.k0e, _ops.k1e

globals().update(_guard(globals()))
