"""How far results may be from exact: long sums and products, and 16-bit floats."""

import math

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.testing import OpCall, calls, examples

F32, F64 = flow.float32, flow.float64


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_long_sums_and_products_are_within_the_bound_of_rounding(dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(3, 10_000)).astype(dtype) for _ in range(2))
    unit = float(np.finfo(dtype).eps) / 2
    a, b = flow.from_numpy(x), flow.from_numpy(y)
    exact = [math.fsum(row) for row in x.astype(float)]
    np.testing.assert_allclose(a.sum(1).data, exact, rtol=0, atol=10_000 * unit * np.abs(x).sum(1).max())
    dots = [
        math.fsum(u * v for u, v in zip(*rows, strict=True))
        for rows in zip(x.astype(float), y.astype(float), strict=True)
    ]
    bound = 10_001 * unit * np.abs(x * y).sum(1).max()
    np.testing.assert_allclose(np.diag((a @ b.T).data), dots, rtol=0, atol=bound)
    np.testing.assert_allclose(
        flow.sum_of_squares(a).item(), math.fsum((x.astype(float) ** 2).ravel()), rtol=30_000 * unit
    )


@pytest.mark.parametrize("dtype", [flow.bfloat16, flow.float16], ids=str)
@pytest.mark.parametrize("name", "add mul div exp tanh gelu softmax sum mean matmul layer_norm attention".split())
def test_16_bit_floats_are_the_float32_result_rounded(name, dtype):
    @examples(15)
    @given(calls(name, (dtype,)))
    def law(call):
        wide = [a.astype(F32) if isinstance(a, np.ndarray) else a for a in call.args]
        for out, exact in zip(call.run(), OpCall(name, tuple(wide), call.attrs).run(), strict=True):
            if out.dtype is dtype:
                # One rounding, or two neighbours where the float32 result lies between them.
                unit = float(np.asarray(np.finfo(F32).eps, F32)) + 2.0 ** (-8 if dtype is flow.bfloat16 else -11)
                tiny = 2.0 ** (-133 if dtype is flow.bfloat16 else -24)
                np.testing.assert_allclose(
                    out.data.astype(F64), exact.data.astype(F64), rtol=unit, atol=tiny, equal_nan=True
                )

    law()
