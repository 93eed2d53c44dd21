"""`infer` is what running gives: for every op and every call that the strategies draw."""

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.testing import CALLS, DTYPES, FLOATS, calls, examples


@pytest.mark.parametrize("name", sorted(CALLS))
def test_infer_is_what_running_gives(name):
    @examples(40)
    @given(calls(name, DTYPES))
    def law(call):
        assert_runs_as_inferred(call)

    law()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(CALLS))
def test_infer_is_what_running_gives_in_each_float_type(name, dtype):
    @examples(8)
    @given(calls(name, (dtype,)))
    def law(call):
        assert_runs_as_inferred(call)

    law()


def assert_runs_as_inferred(call):
    inferred = call.op.infer(*call.specs(), **call.attrs)
    inferred = inferred.out if isinstance(inferred, flow.Checked) else inferred
    expected = list(inferred) if isinstance(inferred, tuple) else [inferred]
    if isinstance(call.op, flow.InPlaceOp):
        assert expected == []
        assert call.run() == [None]
        return
    found = call.run()
    assert len(found) == len(expected)
    for out, spec in zip(found, expected, strict=True):
        assert type(out) is flow.Tensor
        assert out.spec is spec
        assert type(out.data) is np.ndarray
        assert out.data.shape == spec.shape
        assert out.data.dtype == spec.dtype
        assert not out.requires_grad
        assert out.is_leaf
