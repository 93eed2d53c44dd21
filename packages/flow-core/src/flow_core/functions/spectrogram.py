"""The short-time Fourier transform and its inverse."""

import numpy as np

from flow_core.functions import transforms
from flow_core.ops import creation, elementwise, fourier, index, reduce, shape
from flow_core.ops.index import add_rows, take_rows
from flow_core.tensor import from_numpy

PADS = ("reflect", "constant", "replicate", "circular")


def padded(x, n, mode):
    """x (batch, length) with n more at both ends, or n[0] and n[1]."""
    left, right = n if isinstance(n, tuple) else (n, n)
    n, length = max(left, right), x.shape[-1]
    if mode not in PADS:
        raise ValueError(f"stft: pad_mode is {mode!r}, expected one of {', '.join(PADS)}")
    if (mode == "reflect" and n >= length) or (mode == "circular" and n > length) or not length:
        raise ValueError(f"stft: {n} samples of padding by {mode} at each end need a longer signal than {length}")
    places = np.arange(-left, length + right)
    if mode == "constant":
        ends = [creation.zeros((x.shape[0], k), dtype=x.dtype) for k in (left, right)]
        return shape.cat([ends[0], x, ends[1]], dim=-1)
    if mode == "reflect":
        places = length - 1 - np.abs(length - 1 - np.abs(places))
    else:
        places = np.clip(places, 0, length - 1) if mode == "replicate" else places % length
    return along_last(x, places)


def along_last(x, places):
    """x[..., places] for x (batch, length): (batch, *places)."""
    taken = take_rows(from_numpy(np.ascontiguousarray(places)), x.T)
    return shape.permute(taken, dims=(taken.ndim - 1, *range(taken.ndim - 1)))


def full_window(name, window, win_length, n_fft, dtype):
    """The window, by default of ones, padded with 0 to n_fft."""
    if window is None:
        window = creation.ones((win_length,), dtype=dtype)
    if window.shape != (win_length,):
        raise ValueError(f"{name}: window is {window.spec}, expected shape ({win_length},)")
    left = (n_fft - win_length) // 2
    ends = [creation.zeros((n,), dtype=window.dtype) for n in (left, n_fft - win_length - left)]
    return shape.cat([ends[0], window, ends[1]], dim=0) if win_length < n_fft else window


def sizes(name, n_fft, hop_length, win_length):
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if n_fft < 1 or hop_length < 1 or not 1 <= win_length <= n_fft:
        raise ValueError(f"{name}: n_fft {n_fft}, hop_length {hop_length} and win_length {win_length} do not fit")
    return hop_length, win_length


def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The Fourier transforms of windowed frames of input ((batch,) length): ((batch,) frequencies, frames), complex.

    Frames are n_fft long (the window is padded to that), hop_length apart (n_fft // 4 by default); with `center` around its place, the
    signal padded by `pad_mode`; without, the first frame begins with the signal, or the first window, the middle of the frame, if
    `align_to_window`. `onesided`, the default for real signals, leaves out what symmetry gives. `normalized` divides by sqrt(n_fft).
    With return_complex=False, real and imaginary parts are a last dim, and floats have gradients.
    """
    if input.ndim not in (1, 2) or input.dtype.kind not in "fc":
        raise ValueError(f"stft: input is {input.spec}, expected floats or complex numbers in 1 or 2 dims")
    hop_length, win_length = sizes("stft", n_fft, hop_length, win_length)
    complex_in = "c" in input.dtype.kind + (window.dtype.kind if window is not None else "")
    onesided = not complex_in if onesided is None else onesided
    if onesided and complex_in:
        raise ValueError("stft: a complex signal or window has no one-sided transform")
    if return_complex is None and not complex_in:
        raise ValueError("stft: give return_complex, True or False, for a real signal and window")
    x = input if input.ndim == 2 else shape.unsqueeze(input, 0)
    if center and align_to_window is not None:
        raise ValueError("stft: align_to_window says where frames begin without center; give center=False")
    x = padded(x, n_fft // 2, pad_mode) if center else x
    if align_to_window:
        if x.shape[-1] < win_length:
            raise ValueError(f"stft: the signal has {x.shape[-1]} samples, win_length is {win_length}")
        before = (n_fft - win_length) // 2
        x = padded(x, (before, n_fft - win_length - before), "constant")  # which the window weighs with 0
    if x.shape[-1] < n_fft:
        raise ValueError(f"stft: the signal has {x.shape[-1]} samples with its padding, n_fft is {n_fft}")
    starts = np.arange(0, x.shape[-1] - n_fft + 1, hop_length)
    frames = along_last(x, starts[:, None] + np.arange(n_fft))
    if window is not None or win_length < n_fft:
        frames = elementwise.mul(frames, full_window("stft", window, win_length, n_fft, x.dtype))
    if not return_complex and return_complex is not None:
        out = real_pairs(frames, n_fft, onesided)
        out = elementwise.mul(out, n_fft**-0.5) if normalized else out
        out = shape.permute(out, dims=(0, 2, 1, 3))
    else:
        run = fourier.rfftn if onesided else fourier.fftn
        out = run(frames, s=(n_fft,), dims=(2,), norm="ortho" if normalized else "backward")
        out = shape.permute(out, dims=(0, 2, 1))
    return out if input.ndim == 2 else index.getitem(out, 0)


def real_pairs(frames, n_fft, onesided):
    if frames.dtype.kind == "c":
        raise ValueError("stft: return_complex=False of a complex signal is not supported; take its parts")
    pairs = fourier.rfft_pairs(frames)
    if onesided:
        return pairs
    rest = index.getitem(pairs, (..., slice((n_fft - 1) // 2, 0, -1), slice(None)))
    signs = from_numpy(np.array([1, -1], frames.dtype))
    return shape.cat([pairs, elementwise.mul(rest, signs)], dim=-2)


def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal ((batch,) length) whose stft input ((batch,) frequencies, frames) is, or is nearest to: frames overlap and are added,
    and divided by the sum of the squared windows. ValueError where that is 0."""
    if input.ndim not in (2, 3) or input.dtype.kind != "c":
        raise ValueError(f"istft: input is {input.spec}, expected complex numbers in 2 or 3 dims")
    hop_length, win_length = sizes("istft", n_fft, hop_length, win_length)
    x = input if input.ndim == 3 else shape.unsqueeze(input, 0)
    onesided = (x.shape[1] != n_fft) if onesided is None else onesided
    if x.shape[1] != (n_fft // 2 + 1 if onesided else n_fft):
        raise ValueError(f"istft: {input.spec} has {x.shape[1]} frequencies, which does not fit n_fft {n_fft}")
    if return_complex and onesided:
        raise ValueError("istft: a one-sided transform has a real signal; give return_complex=False")
    x = shape.permute(x, dims=(0, 2, 1))
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = fourier.ifftn(x, s=(n_fft,), dims=(2,), norm=norm)
    else:
        half = index.getitem(x, (..., slice(n_fft // 2 + 1)))
        frames = transforms.irfft(half, n_fft, -1, norm)
    weights = full_window("istft", window, win_length, n_fft, "float64" if "128" in str(x.dtype) else "float32")
    frames = elementwise.mul(frames, weights)
    places = np.arange(x.shape[1])[:, None] * hop_length + np.arange(n_fft)
    total = int(places.max()) + 1
    signal = overlapped(frames, places, total)
    squares = elementwise.mul(weights, weights)
    envelope = overlapped(shape.expand(squares, shape=(1, *places.shape)), places, total)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - (n_fft // 2 if center else 0)
    cut = (slice(None), slice(start, min(end, total)))
    signal, envelope = index.getitem(signal, cut), index.getitem(envelope, cut)
    if bool((abs(envelope.data) < 1e-11).any()):
        raise ValueError("istft: the windows do not overlap enough: the sum of their squares is 0 somewhere")
    out = elementwise.div(signal, envelope)
    if length is not None and out.shape[-1] < length:
        rest = creation.zeros((out.shape[0], length - out.shape[-1]), dtype=out.dtype)
        out = shape.cat([out, rest], dim=-1)
    return out if input.ndim == 3 else reduce.sum(out, dim=0)


def overlapped(frames, places, total):
    """The sum of frames (batch, count, n) where they lie: (batch, total)."""
    rows = shape.permute(frames, dims=(1, 2, 0))
    return add_rows(rows, from_numpy(places), num_rows=total).T
