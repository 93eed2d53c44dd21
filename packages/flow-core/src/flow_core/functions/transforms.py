"""Discrete Fourier transforms with PyTorch's arguments, in terms of ops."""

import numpy as np

from flow_core.ops import fourier, shape
from flow_core.ops import index as indexing
from flow_core.spec import as_count, as_dim
from flow_core.tensor import tensor

NORMS = (None, "backward", "ortho", "forward")


def checked(name, x, s, dim, norm, least=1):
    """The op's attributes: dims counted from the front, and the size of each. ValueError for sizes below 1 or dims named twice."""
    if norm not in NORMS:
        raise ValueError(f'{name}: norm is {norm!r}, expected "backward", "ortho" or "forward"')
    s = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        dim = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    dims = tuple(as_dim(name, d, x.ndim) for d in ([dim] if isinstance(dim, int) else dim))
    if not x.ndim or len(set(dims)) != len(dims) or len(dims) < least or (s is not None and len(s) > x.ndim):
        raise ValueError(f"{name}: dim {dim} and sizes {s} do not fit {x.spec}: dims must be there, and different")
    if s is not None and len(s) != len(dims):
        raise ValueError(f"{name}: {len(s)} sizes given for {len(dims)} dims")
    return s, dims, norm or "backward"


def sizes(name, x, s, dims, last=None):
    """The sizes of the transform: what `s` says, -1 and None standing for x's own, `last` in the last dim."""
    own = [x.shape[d] for d in dims]
    if last is not None:
        own[-1] = last(own[-1])
    s = own if s is None else [n if m in (-1, None) else m for m, n in zip(s, own, strict=True)]
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in s):
        raise ValueError(f"{name}: the sizes {s} in dims {dims} of {x.spec} must be ints of 1 or more")
    return tuple(s)


def full(op, name, x, s, dim, norm):
    """A transform whose output is as long as its input."""
    s, dims, norm = checked(name, x, s, dim, norm, 0)
    if not dims:
        return op(x, s=(), dims=(), norm=norm)
    return op(x, s=sizes(name, x, s, dims), dims=dims, norm=norm)


def halving(op, name, x, s, dim, norm):
    """A transform of real numbers, half of whose output is left out."""
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: {x.spec} is complex, expected real numbers")
    s, dims, norm = checked(name, x, s, dim, norm)
    return op(x, s=sizes(name, x, s, dims), dims=dims, norm=norm)


def doubling(name, x, s, dim, norm, forward):
    """A transform to real numbers, from half of its input; `forward` is the hfft family."""
    s, dims, norm = checked(name, x, s, dim, norm)
    s = sizes(name, x, s, dims, lambda n: 2 * (n - 1))
    if not forward:
        return fourier.irfftn(x, s=s, dims=dims, norm=norm)
    if x.dtype.kind == "c":
        return fourier.hfftn(x, s=s, dims=dims, norm=norm)
    # Of real numbers the two differ in their scale alone.
    return fourier.irfftn(x, s=s, dims=dims, norm={"backward": "forward", "forward": "backward"}.get(norm, norm))


def family(name, run, doc):
    """The variants of one transform: over one dim, two, and several."""

    def one(input, n=None, dim=-1, norm=None):
        if isinstance(n, bool) or not (n is None or isinstance(n, int)) or not isinstance(dim, int):
            raise TypeError(f"{name}: n is {n!r} and dim {dim!r}, expected ints")
        return run(name, input, n, dim, norm)

    def two(input, s=None, dim=(-2, -1), norm=None):
        return run(f"{name}2", input, s, dim, norm)

    def several(input, s=None, dim=None, norm=None):
        return run(f"{name}n", input, s, dim, norm)

    for function, suffix, over in ((one, "", "dim"), (two, "2", "two dims"), (several, "n", "dims, by default all")):
        function.__name__ = function.__qualname__ = name + suffix
        function.__doc__ = (
            f"{doc}, over {over}; the sizes cut or pad with 0. norm: backward (1 / n in the inverse), ortho, forward. "
            "Integers count as float32. ValueError for sizes below 1."
        )
    return one, two, several


def by(kind, op):
    return lambda name, x, s, dim, norm: kind(op, name, x, s, dim, norm)


fft, fft2, fftn = family("fft", by(full, fourier.fftn), "The discrete Fourier transform")
ifft, ifft2, ifftn = family("ifft", by(full, fourier.ifftn), "The inverse of fft")
rfft, rfft2, rfftn = family("rfft", by(halving, fourier.rfftn), "The half of fft that real x's symmetry leaves")
ihfft, ihfft2, ihfftn = family("ihfft", by(halving, fourier.ihfftn), "The inverse of hfft: half of ifft of real x")
irfft, irfft2, irfftn = family(
    "irfft", lambda *args: doubling(*args, False), "The inverse of rfft: real, 2 (n - 1) long by default"
)
hfft, hfft2, hfftn = family(
    "hfft", lambda *args: doubling(*args, True), "fft of a Hermitian signal, from its first half: real"
)


def refuse_out(name, out):
    """TypeError for an `out`: results are new tensors, which copy_ can put where they are wanted."""
    if out is not None:
        raise TypeError(f"{name}: out is not supported; write x.copy_({name}(...)) under no_grad()")


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of fft of n samples d apart: 0, 1, ..., -2, -1 over n d."""
    refuse_out("fftfreq", out)
    n = as_count("fftfreq", "n", n)
    half = (n + 1) // 2
    values = np.concatenate([np.arange(half), np.arange(-(n // 2), 0)]) / as_step("fftfreq", n, d)
    return tensor(values, dtype=dtype or "float32", device=device, requires_grad=requires_grad)


def as_step(name, n, d):
    """n d as a float. ValueError for 0."""
    if not float(n * d):
        raise ValueError(f"{name}: n is {n} and d is {d}, expected a product other than 0")
    return float(n * d)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of rfft: 0 to n // 2, over n d."""
    refuse_out("rfftfreq", out)
    n = as_count("rfftfreq", "n", n)
    return tensor(
        np.arange(n // 2 + 1) / as_step("rfftfreq", n, d),
        dtype=dtype or "float32",
        device=device,
        requires_grad=requires_grad,
    )


def rolled(name, x, dim, by):
    """x turned along dims (all by default), by `by(size)` places."""
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    for d in [as_dim(name, d, x.ndim) for d in dims]:
        n = x.shape[d] if x.ndim else 0
        cut = by(n)
        if 0 < cut < n:
            first, last = ((slice(None),) * d + (s,) for s in (slice(cut), slice(cut, None)))
            x = shape.cat([indexing.getitem(x, last), indexing.getitem(x, first)], dim=d)
    return x


def fftshift(input, dim=None):
    """The spectrum with frequency 0 moved to the middle of each dim."""
    return rolled("fftshift", input, dim, lambda n: (n + 1) // 2)


def ifftshift(input, dim=None):
    """The inverse of fftshift."""
    return rolled("ifftshift", input, dim, lambda n: n // 2)


NAMES = [kind + suffix for kind in "fft ifft rfft irfft hfft ihfft".split() for suffix in ("", "2", "n")]
NAMES += ["fftfreq", "rfftfreq", "fftshift", "ifftshift"]
