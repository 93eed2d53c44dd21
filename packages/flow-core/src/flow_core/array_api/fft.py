"""The Fourier transform extension. Complex results have the precision of their input."""

import flow_core as flow


def along_one(name):
    """The standard's transform `name` along one axis."""
    transform = getattr(flow.fft, name)

    def one(x, /, *, n=None, axis=-1, norm="backward"):
        return transform(x, n, axis, norm)

    one.__name__ = one.__qualname__ = name
    one.__doc__ = transform.__doc__
    return one


def along_several(name):
    """The standard's transform `name` along several axes."""
    transform = getattr(flow.fft, name)

    def several(x, /, *, s=None, axes=None, norm="backward"):
        return transform(x, s, axes, norm)

    several.__name__ = several.__qualname__ = name
    several.__doc__ = transform.__doc__
    return several


fft, ifft, rfft, irfft, hfft, ihfft = map(along_one, "fft ifft rfft irfft hfft ihfft".split())
fftn, ifftn, rfftn, irfftn = map(along_several, "fftn ifftn rfftn irfftn".split())


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of fft of n samples d apart; float32 without a dtype."""
    return flow.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of rfft of n samples d apart; float32 without a dtype."""
    return flow.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """The spectrum with frequency 0 moved to the middle of each axis."""
    return flow.fft.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """The inverse of fftshift."""
    return flow.fft.ifftshift(x, axes)
