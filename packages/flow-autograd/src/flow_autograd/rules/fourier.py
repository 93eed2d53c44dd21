"""Derivatives of flow_core.ops.fourier: the transforms of real numbers to real numbers have one, complex numbers have none."""

from flow_autograd.vjp import defvjp, no_vjp
from flow_core.ops import fourier


def irfftn(g, _out, _x, s, dims, norm):
    """For floats alone; integers and complex numbers require no grad."""
    return fourier.irfftn_adjoint(g, s=s, dims=dims, norm=norm, shape=_x.shape)


def irfftn_adjoint(g, _out, _g, s, dims, norm, shape):
    return fourier.irfftn(g, s=s, dims=dims, norm=norm)


defvjp(fourier.irfftn, irfftn)
defvjp(fourier.irfftn_adjoint, irfftn_adjoint)
defvjp(fourier.rfft_pairs, lambda g, _out, _x: fourier.rfft_pairs_adjoint(g, n=_x.shape[-1]))
defvjp(fourier.rfft_pairs_adjoint, lambda g, _out, _g, n: fourier.rfft_pairs(g))
no_vjp(
    "complex numbers have no gradient",
    fourier.fftn,
    fourier.ifftn,
    fourier.rfftn,
    fourier.ihfftn,
    fourier.hfftn,
)
