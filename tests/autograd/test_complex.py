"""Gradients pass through complex numbers to the real ones that they were made of."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd.testing import check_grads

CASES = {
    "parts": lambda a, b: flow.view_as_real(flow.complex(a, b)) * flow.complex(a, b).imag[..., None],
    "conj": lambda a, b: flow.complex(a * a, b).conj().imag * a,
    "conj_physical": lambda a, b: flow.complex(a, b * b).conj_physical().real * b,
    "abs": lambda a, b: flow.complex(a, b).abs(),
    "angle": lambda a, b: flow.complex(a, b).angle(),
    "polar": lambda a, b: flow.view_as_real(flow.polar(a * a, b)),
    "broadcast": lambda a, b: flow.complex(a, b[0]).imag ** 2,
    "cast": lambda a, b: (a * b).cdouble().real ** 2,
    "mean": lambda a, b: flow.complex(a, b).mean(0).abs(),
    "var": lambda a, b: flow.complex(a, b).var(0),
    "transposed": lambda a, b: flow.complex(a, b).mH.imag * a.T,
    "cut": lambda a, b: flow.complex(a, b)[0].real ** 3,
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_finite_differences(name):
    rng = np.random.default_rng(1)
    order = 1 if name in ("abs", "mean") else 2  # the second derivative of |z| is a product of complex numbers
    check_grads(CASES[name], rng.uniform(0.5, 1, (2, 3)), rng.uniform(0.5, 1, (2, 3)), order=order)
