"""Derivatives of flow_core.ops.strided: taking and putting back are each other's adjoints."""

from flow_autograd.vjp import defvjp
from flow_core.ops.strided import add_strided, diagonal, place_diagonal, strided

defvjp(diagonal, lambda g, _out, _x, **attrs: place_diagonal(g, shape=_x.shape, **attrs))
defvjp(place_diagonal, lambda g, _out, _v, shape, **attrs: diagonal(g, **attrs))
defvjp(strided, lambda g, _out, _x, **attrs: add_strided(g, shape=_x.shape, **attrs))
defvjp(add_strided, lambda g, _out, _g, shape, **attrs: strided(g, **attrs))
