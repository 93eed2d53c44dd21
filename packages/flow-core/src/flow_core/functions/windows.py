"""Window functions as PyTorch's signal.windows and its older *_window have them."""

import math

import numpy as np

from flow_core.dtype import as_dtype, float32, float64
from flow_core.spec import as_count
from flow_core.tensor import tensor

LAYOUT = "torch.strided"


def window(name, M, values, sym, dtype, layout, device, requires_grad):
    """The tensor of `values(k, n)` at the places k of M points; n counts the points of the symmetric window."""
    M = as_count(name, "M", M)
    dtype = float32 if dtype is None else as_dtype(dtype)
    if dtype not in (float32, float64):
        raise ValueError(f"{name}: dtype is {dtype}, expected float32 or float64")
    if layout is not None and str(layout) != LAYOUT:
        raise ValueError(f"{name}: layout is {layout!r}, expected None: tensors are strided")
    if M <= 1:
        array = np.ones(M)
    else:
        array = values(np.arange(M), M if sym else M + 1)
    return tensor(array, dtype=dtype, device=device, requires_grad=requires_grad)


def cosines(k, n, a):
    """sum of (-1)^i a_i cos(2 pi i k / (n - 1))."""
    return sum((-1) ** i * c * np.cos(2 * math.pi * i * k / (n - 1)) for i, c in enumerate(a))


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The triangle 1 - |2 k / (n - 1) - 1|."""

    def values(k, n):
        return 1 - np.abs(2 * k / (n - 1) - 1)

    return window("bartlett", M, values, sym, dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The weighted sum of cosines with the coefficients a, their signs in turn. ValueError for none."""
    if not isinstance(a, (tuple, list)) or not a:
        raise ValueError(f"general_cosine: a is {a!r}, expected a list of numbers, not empty")
    return window("general_cosine", M, lambda k, n: cosines(k, n, a), sym, dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(2 pi k / (n - 1))."""
    a = [alpha, 1 - alpha]
    return window("general_hamming", M, lambda k, n: cosines(k, n, a), sym, dtype, layout, device, requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_hamming of alpha 0.54."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_hamming of alpha 0.5."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_cosine of 0.42, 0.5, 0.08."""
    a = [0.42, 0.5, 0.08]
    return window("blackman", M, lambda k, n: cosines(k, n, a), sym, dtype, layout, device, requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_cosine of the four coefficients of Nuttall's minimal window (1981)."""
    a = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return window("nuttall", M, lambda k, n: cosines(k, n, a), sym, dtype, layout, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """sin(pi (k + 1/2) / n)."""

    def values(k, n):
        return np.sin(math.pi * (k + 0.5) / n)

    return window("cosine", M, values, sym, dtype, layout, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-|k - center| / tau); the center is the middle, and may be given only unless `sym`. ValueError for tau <= 0."""
    if tau <= 0:
        raise ValueError(f"exponential: tau is {tau}, expected a number above 0")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for a symmetric window")

    def values(k, n):
        return np.exp(-np.abs(k - ((n - 1) / 2 if center is None else center)) / tau)

    return window("exponential", M, values, sym, dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-((k - middle) / std)^2 / 2). ValueError for std <= 0."""
    if std <= 0:
        raise ValueError(f"gaussian: std is {std}, expected a number above 0")

    def values(k, n):
        return np.exp(-(((k - (n - 1) / 2) / std) ** 2) / 2)

    return window("gaussian", M, values, sym, dtype, layout, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """i0(beta sqrt(1 - (2 k / (n - 1) - 1)^2)) / i0(beta). ValueError for beta < 0."""
    if beta < 0:
        raise ValueError(f"kaiser: beta is {beta}, expected 0 or more")

    def values(k, n):
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / (n - 1) - 1) ** 2, 0))) / np.i0(beta)

    return window("kaiser", M, values, sym, dtype, layout, device, requires_grad)


ALL = dict(
    bartlett=bartlett,
    blackman=blackman,
    cosine=cosine,
    exponential=exponential,
    gaussian=gaussian,
    general_cosine=general_cosine,
    general_hamming=general_hamming,
    hamming=hamming,
    hann=hann,
    kaiser=kaiser,
    nuttall=nuttall,
)


def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
    """bartlett, of which `periodic` leaves out the last point of one more."""
    return bartlett(
        window_length, sym=not periodic, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
    """blackman, as bartlett_window."""
    return blackman(
        window_length, sym=not periodic, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
    """hann, as bartlett_window."""
    return hann(window_length, sym=not periodic, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, requires_grad=False
):
    """alpha - beta cos(2 pi k / (n - 1)), as bartlett_window."""
    return window(
        "hamming_window",
        window_length,
        lambda k, n: cosines(k, n, [alpha, beta]),
        not periodic,
        dtype,
        layout,
        device,
        requires_grad,
    )


def kaiser_window(
    window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, requires_grad=False
):
    """kaiser, as bartlett_window."""
    return kaiser(
        window_length,
        beta=beta,
        sym=not periodic,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


TOP = {f.__name__: f for f in (bartlett_window, blackman_window, hann_window, hamming_window, kaiser_window)}
