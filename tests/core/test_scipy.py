"""Libraries that are written to the array API standard take tensors and give tensors back."""

import os
import subprocess
import sys

# scipy reads SCIPY_ARRAY_API when it is imported, so it runs in a process of its own.
PROGRAM = """
import numpy as np
import scipy.cluster.vq, scipy.fft, scipy.integrate, scipy.ndimage, scipy.signal, scipy.special, scipy.stats
import flow_core as flow

rng = np.random.default_rng(0)
a, b, v = rng.random((6, 3)), rng.random((6, 3)), rng.random(8) / 2 + 0.1
CALLS = [
    *[(getattr(scipy.special, name), v) for name in "expit logit log_ndtr ndtr gammaln i0 erf entr".split()],
    *[(getattr(scipy.special, name), v, v[::-1].copy()) for name in "gammainc xlogy chdtr".split()],
    *[(getattr(scipy.stats, name), v) for name in "gmean hmean kurtosis skew sem kstat circmean circstd".split()],
    *[(getattr(scipy.fft, name), a) for name in "fft ifft rfft irfft fftn hfft dct dst fftshift".split()],
    *[(function, a) for function in (scipy.cluster.vq.whiten, scipy.stats.zscore, scipy.special.logsumexp)],
    (scipy.cluster.vq.vq, a, b[:2]),
    (scipy.cluster.vq.kmeans, a, b[:2]),
    (scipy.stats.ttest_ind, a, b),
    (scipy.signal.detrend, v),
    (scipy.signal.hilbert, v),
    (scipy.signal.fftconvolve, v, v[:3]),
    (scipy.signal.resample, v, 5),
    (scipy.ndimage.gaussian_filter, a, 1.0),
    (scipy.integrate.trapezoid, v),
    (scipy.integrate.cumulative_trapezoid, v),
]


def parts(value):
    return [p for item in value for p in parts(item)] if isinstance(value, (tuple, list)) else [value]


for function, *args in CALLS:
    expected = parts(function(*args))
    found = parts(function(*[flow.from_numpy(x) if isinstance(x, np.ndarray) else x for x in args]))
    assert len(found) == len(expected), function
    for x, y in zip(found, expected, strict=True):
        assert isinstance(x, flow.Tensor), (function, type(x))
        assert x.dtype == y.dtype, function
        np.testing.assert_allclose(x.numpy(), y, 1e-9, 1e-12, err_msg=str(function))
print("all", len(CALLS))
"""


def test_scipy_takes_tensors_and_gives_tensors():
    environ = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all 41\n"
