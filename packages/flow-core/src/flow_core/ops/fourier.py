"""Discrete Fourier transforms over several dims, by scipy.fft."""

import numpy as np
import scipy.fft

from flow_core.dtype import CATEGORIES, complex64, complex128, float32, float64
from flow_core.op import Checked, Op, define
from flow_core.spec import TensorSpec, as_count, as_dim, as_shape

COMPLEX = {float32: complex64, float64: complex128}
REAL = {complex64: float32, complex128: float64}


def transformed(name, x):
    """The dtype that x is transformed in. TypeError for 16-bit floats."""
    if CATEGORIES[x.dtype] < 2:
        return float32
    if x.dtype in COMPLEX or x.dtype in REAL:
        return x.dtype
    raise TypeError(f"{name}: {x} holds 16-bit floats, which have no transform; cast it to float32")


NORMS = ("backward", "ortho", "forward")


def fitting(name, x, s, dims, norm, some):
    """s and dims as tuples of ints; ValueError unless they fit x and each other. `some`: there must be a dim."""
    s, dims = (value if isinstance(value, tuple) else (value,) for value in (s, dims))
    s = tuple(as_count(name, "a size in s", n) for n in s)
    dims = tuple(as_dim(name, d, x.ndim) for d in dims)
    if norm not in NORMS:
        raise ValueError(f"{name}: norm is {norm!r}, expected one of {', '.join(NORMS)}")
    if len(s) != len(dims) or len(set(dims)) != len(dims) or 0 in s or len(dims) > x.ndim or (some and not dims):
        raise ValueError(f"{name}: sizes {s} in dims {dims} of {x}: expected a size above 0 for each of several dims")
    return s, dims


def transform(name, doc, takes_complex, returns_complex, halves=False):
    """Makes the op of scipy.fft's function `name`; `halves` says on which side of it the last dim holds half a spectrum."""

    def infer(x, /, *, s, dims, norm="backward"):
        dtype = transformed(name, x)
        if dtype in REAL and not takes_complex:
            raise TypeError(f"{name}: {x} is complex, expected real numbers")
        s, dims = fitting(name, x, s, dims, norm, bool(halves))
        shape = list(x.shape)
        for d, n in zip(dims, s, strict=True):
            shape[d] = n
        if halves and returns_complex:
            shape[dims[-1]] = s[-1] // 2 + 1
        out = COMPLEX.get(dtype, dtype) if returns_complex else REAL.get(dtype, dtype)
        return Checked(TensorSpec(shape, out, x.device), {"s": s, "dims": dims, "norm": norm})

    def kernel(x, /, *, s, dims, norm):
        function, dtype = getattr(scipy.fft, name), transformed(name, x)
        out = infer(x, s=s, dims=dims, norm=norm).out

        def run(a):
            if not out.size:
                return np.zeros(out.shape, out.dtype)
            return np.asarray(function(a.astype(dtype, copy=False), s, dims, norm), out.dtype)

        return run

    infer.__doc__ = (
        f"{doc} over `dims`, x cut or padded with 0 there to the sizes `s`; `norm` is backward, ortho or forward. "
        "TypeError for 16-bit floats."
    )
    return Op(name, infer, {"cpu": kernel}, linear=(0,))


fftn = transform("fftn", "The discrete Fourier transform", True, True)
ifftn = transform("ifftn", "The inverse transform", True, True)
rfftn = transform("rfftn", "The half of the transform of real x that its symmetry leaves", False, True, True)
ihfftn = transform("ihfftn", "The half of the inverse transform of real x that its symmetry leaves", False, True, True)
irfftn = transform("irfftn", "The inverse of rfftn: real, from half a spectrum", True, False, True)
hfftn = transform("hfftn", "The inverse of ihfftn: real, from half a signal", True, False, True)


def irfftn_adjoint_kernel(g, /, *, s, dims, norm, shape):
    half = s[-1] // 2 + 1
    weight = np.full(half, 2, g.dtype)
    weight[0] = 1
    if s[-1] % 2 == 0:
        weight[-1] = 1
    weight = weight.reshape([half if d == dims[-1] else 1 for d in range(g.ndim)])
    dual = {"backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]

    def run(a):
        out = np.zeros(shape, g.dtype)
        if a.size and out.size:
            spectrum = scipy.fft.rfftn(a, None, dims, dual).real * weight
            kept = tuple([slice(min(n, m)) for n, m in zip(shape, spectrum.shape, strict=True)])
            out[kept] = spectrum[kept]
        return out

    return run


@define(irfftn_adjoint_kernel, linear=(0,))
def irfftn_adjoint(g, /, *, s, dims, norm, shape):
    """The gradient of irfftn at real x of `shape`: a spectrum's real part counts twice where its mirror image was left out."""
    if g.dtype not in COMPLEX:
        raise TypeError(f"irfftn_adjoint: {g}, expected float32 or float64")
    s, dims = fitting("irfftn_adjoint", g, s, dims, norm, True)
    shape = as_shape("irfftn_adjoint", shape)
    if len(shape) != g.ndim or any(g.shape[d] != n for d, n in zip(dims, s, strict=True)):
        raise ValueError(f"irfftn_adjoint: {g} is not the output of a transform of shape {shape} to {s} in dims {dims}")
    if any(n != m for d, (n, m) in enumerate(zip(shape, g.shape, strict=True)) if d not in dims):
        raise ValueError(f"irfftn_adjoint: {g} and shape {shape} differ in a dim that is not transformed")
    return Checked(g.with_shape(shape), {"s": s, "dims": dims, "norm": norm, "shape": shape})


def rfft_pairs_kernel(x, /):
    def run(a):
        spectrum = scipy.fft.rfft(a, axis=-1)
        return np.stack([spectrum.real, spectrum.imag], -1)

    return run


@define(rfft_pairs_kernel, linear=(0,))
def rfft_pairs(x, /):
    """rfft over the last dim of floats x (*batch, n), as pairs of real and imaginary parts: (*batch, n // 2 + 1, 2)."""
    if transformed("rfft_pairs", x) is not x.dtype or x.dtype in REAL or not x.ndim or not x.shape[-1]:
        raise TypeError(f"rfft_pairs: {x}, expected floats in a dim at least")
    return x.with_shape((*x.shape[:-1], x.shape[-1] // 2 + 1, 2))


def rfft_pairs_adjoint_kernel(g, /, *, n):
    def run(a):
        spectrum = a[..., 0] + 1j * a[..., 1]
        spectrum[..., 1 : (n + 1) // 2] /= 2  # their mirror images are not in g
        return scipy.fft.irfft(spectrum, n, axis=-1, norm="forward").astype(g.dtype, copy=False)

    return run


@define(rfft_pairs_adjoint_kernel, linear=(0,))
def rfft_pairs_adjoint(g, /, *, n):
    """The gradient of rfft_pairs at x (*batch, n)."""
    n = as_count("rfft_pairs_adjoint", "n", n)
    if g.dtype not in COMPLEX or not n or g.ndim < 2 or g.shape[-2:] != (n // 2 + 1, 2):
        raise ValueError(f"rfft_pairs_adjoint: {g}, expected floats of {n // 2 + 1} pairs, and n above 0")
    return Checked(g.with_shape((*g.shape[:-2], n)), {"n": n})
