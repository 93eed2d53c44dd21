"""Derivatives of flow_core.ops.complex. The gradient of a complex number is that of its real part plus i times that of its imaginary."""

from flow_autograd.vjp import defvjp
from flow_core.ops.complex import view_as_complex, view_as_real

defvjp(view_as_real, lambda g, _out, _x: view_as_complex(g))
defvjp(view_as_complex, lambda g, _out, _x: view_as_real(g))
