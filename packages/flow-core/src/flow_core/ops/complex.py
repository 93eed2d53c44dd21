"""Complex numbers as pairs of real ones, and pairs as complex numbers: what all that looks inside a complex number is made of."""

import numpy as np

from flow_core.dtype import CATEGORIES, complex64, complex128, float32, float64
from flow_core.op import define

PARTS = {complex64: float32, complex128: float64}
WHOLES = {real: whole for whole, real in PARTS.items()}


def view_as_real_kernel(x, /):
    half = x.dtype.itemsize // 2

    def run(a):
        return np.lib.stride_tricks.as_strided(a.real, (*a.shape, 2), (*a.strides, half), writeable=a.flags.writeable)

    return run


@define(view_as_real_kernel, linear=(0,))
def view_as_real(x, /):
    """The real and imaginary parts of complex x (*shape), as (*shape, 2). A view. TypeError for other types."""
    if CATEGORIES[x.dtype] != 3:
        raise TypeError(f"view_as_real: {x} does not hold complex numbers")
    return x.with_shape((*x.shape, 2)).with_dtype(PARTS[x.dtype])


def view_as_complex_kernel(x, /):
    whole = WHOLES[x.dtype]

    def run(a):
        if a.strides[-1] != x.dtype.itemsize:  # the two parts must be neighbours
            a = np.ascontiguousarray(a)
        return a.view(whole)[..., 0]

    return run


@define(view_as_complex_kernel, linear=(0,))
def view_as_complex(x, /):
    """The complex numbers whose parts are x (*shape, 2) of float32 or float64. A view where the two parts are neighbours in memory."""
    if x.dtype not in WHOLES:
        raise TypeError(f"view_as_complex: {x} is neither float32 nor float64")
    if x.shape[-1:] != (2,):
        raise ValueError(f"view_as_complex: {x} must have a last dim of size 2, the real and the imaginary part")
    return x.with_shape(x.shape[:-1]).with_dtype(WHOLES[x.dtype])
