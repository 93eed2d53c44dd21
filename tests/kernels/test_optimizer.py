from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flow_kernels as fk
from flow_kernels import reference
from flow_kernels.testing import assert_same_bits, normal, seeds, sizes

shapes = st.lists(st.tuples(st.sampled_from((0, 1, 3, 7)), sizes), max_size=5)


def tensors(seed, shapes):
    """params, grads, exp_avgs, exp_avg_sqs."""
    lists = [[normal([seed, i, k], shape) for k, shape in enumerate(shapes)] for i in range(4)]
    return [*lists[:3], [v * v for v in lists[3]]]


def copies(lists):
    return [[a.copy() for a in arrays] for arrays in lists]


@given(
    seeds,
    shapes,
    st.integers(1, 10_000),
    st.sampled_from((0.0, 1e-3, 1.0)),
    st.sampled_from((0.0, 0.3, 0.5, 0.9)),
    st.sampled_from((0.0, 0.95, 0.999)),
    st.sampled_from((0.0, 0.1)),
    st.sampled_from((1.0, 1 / 1024)),
)
@example(0, [(7, 2500), (3, 2500), (7, 2500)], 1, 1e-3, 0.9, 0.999, 0.01, 1.0)
def test_adamw_has_the_bits_of_the_reference(seed, shapes, step, lr, beta1, beta2, weight_decay, grad_scale):
    actual = tensors(seed, shapes)
    expected = copies(actual)
    constants = dict(
        step=step, lr=lr, beta1=beta1, beta2=beta2, eps=1e-8, weight_decay=weight_decay, grad_scale=grad_scale
    )
    fk.adamw(*actual, **constants)
    reference.adamw(*expected, **constants)
    for ours, theirs in zip(actual, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert_same_bits(a, b)


def test_many_small_tensors_are_updated_like_one_large_one():
    whole = tensors(0, [(100_000,)])
    bounds = [0, 1, 1, 40, 33_000, 33_001, 98_765, 100_000]
    parts = [[a[0][i:j].copy() for i, j in pairwise(bounds)] for a in whole]
    fk.adamw(*whole, step=3)
    fk.adamw(*parts, step=3)
    for large, small in zip(whole, parts, strict=True):
        assert_same_bits(np.concatenate(small), large[0])


def test_the_first_step_moves_each_param_by_lr():
    param, grad = np.zeros(5, np.float32), np.float32([1, -1, 1e-3, 100, -1e4])
    fk.adamw([param], [grad], [np.zeros_like(param)], [np.zeros_like(param)], step=1, lr=0.1, weight_decay=0.0)
    # With bias correction m / sqrt(v) is the sign of the gradient; eps is 1e-5 of the smallest one.
    np.testing.assert_allclose(param, -0.1 * np.sign(grad), rtol=2e-5)


def test_grads_are_left_alone_and_nan_stays_in_its_element():
    params, grads, m, v = tensors(0, [(100,)])
    grads[0][7] = np.nan
    before = grads[0].copy()
    fk.adamw(params, grads, m, v, step=1, grad_scale=0.5)
    assert_same_bits(grads[0], before)
    assert np.flatnonzero(np.isnan(params[0])).tolist() == [7]


def test_bad_arguments_are_refused_before_anything_is_written():
    good = tensors(0, [(3, 4), (5,)])
    read_only = normal(0, 5)
    read_only.flags.writeable = False
    for error, match, changes, constants in [
        (ValueError, r"grads has 1 arrays, expected 2, one for each of params", {1: good[1][:1]}, {}),
        (
            ValueError,
            r"exp_avgs\[1\] has shape \(4,\), expected \(5,\): that of params\[1\]",
            {2: [good[2][0], normal(0, 4)]},
            {},
        ),
        (TypeError, r"grads\[0\] has dtype float64", {1: [np.zeros((3, 4)), good[1][1]]}, {}),
        (ValueError, r"params\[1\] of shape \(5,\) is read-only", {0: [good[0][0], read_only]}, {}),
        (ValueError, "step is 0, expected 1 for the first step", {}, {"step": 0}),
        (ValueError, "beta2 is 1.0+, expected 0 <= beta2 < 1", {}, {"beta2": 1.0}),
    ]:
        given_lists = [changes.get(i, a) for i, a in enumerate(good)]
        before = copies(good)
        with pytest.raises(error, match=match):
            fk.adamw(*given_lists, **{"step": 1, **constants})
        for a, b in zip(good, before, strict=True):
            for x, y in zip(a, b, strict=True):
                assert_same_bits(x, y)
