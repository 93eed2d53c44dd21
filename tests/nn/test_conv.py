"""Convolutions equal scipy's correlations, transposed ones are their adjoints, and unfold and fold are each other's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F

CONVS, TRANSPOSED = (F.conv1d, F.conv2d, F.conv3d), (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def correlated(x, w, stride, padding, dilation, groups):
    """The convolution by scipy's correlation of one channel with one kernel, padded, dilated and strided by hand."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    wide = np.zeros((*w.shape[:2], *[d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]))
    wide[(..., *[slice(None, None, d) for d in dilation])] = w
    steps = tuple(slice(None, None, s) for s in stride)
    outs = w.shape[0] // groups
    rows = []
    for b, o in np.ndindex(x.shape[0], w.shape[0]):
        first = o // outs * w.shape[1]
        total = sum(signal.correlate(x[b, first + c], wide[o, c], "valid") for c in range(w.shape[1]))
        rows.append(total[steps])
    return np.reshape(rows, (x.shape[0], w.shape[0], *rows[0].shape)) if n else None


@st.composite
def settings_of(draw):
    n, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(n))  # noqa: E731
    kernel, stride, padding, dilation = each(1, 3), each(1, 3), each(0, 2), each(1, 2)
    size = tuple(d * (k - 1) + 1 + draw(st.integers(0, 3)) for k, d in zip(kernel, dilation, strict=True))
    inner, outs = draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    x, w = numbers(draw(st.integers(1, 2)), groups * inner, *size), numbers(outs, inner, *kernel, seed=1)
    return x, w, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


@examples(60)
@given(settings_of())
def test_a_convolution_is_a_sum_of_correlations(drawn):
    x, w, attrs = drawn
    conv, bias = CONVS[x.ndim - 3], numbers(w.shape[0], seed=2)
    out = conv(flow.tensor(x), flow.tensor(w), flow.tensor(bias), **attrs).numpy()
    expected = correlated(x, w, **attrs) + bias.reshape(-1, *[1] * (x.ndim - 2))
    np.testing.assert_allclose(out, expected, atol=1e-12)
    alone = conv(flow.tensor(x[0]), flow.tensor(w), flow.tensor(bias), **attrs).numpy()
    np.testing.assert_allclose(alone, expected[0], atol=1e-12)


@examples(60)
@given(settings_of(), st.integers(0, 2))
def test_a_transposed_convolution_is_the_adjoint(drawn, extra):
    x, w, attrs = drawn
    y = CONVS[x.ndim - 3](flow.tensor(x), flow.tensor(w), **attrs)
    g = numbers(*y.shape, seed=3)
    kernel = w.shape[2:]
    size = [
        (t - 1) * s - 2 * p + d * (k - 1) + 1
        for t, s, p, d, k in zip(y.shape[2:], attrs["stride"], attrs["padding"], attrs["dilation"], kernel, strict=True)
    ]
    missing = tuple(n - m for n, m in zip(x.shape[2:], size, strict=True))  # what the stride left over at the end
    back = TRANSPOSED[x.ndim - 3](flow.tensor(g), flow.tensor(w), output_padding=missing, **attrs)
    assert back.shape == x.shape
    np.testing.assert_allclose((back.numpy() * x).sum(), (g * y.numpy()).sum(), atol=1e-9)


def test_same_padding_keeps_the_size():
    x = flow.tensor(numbers(1, 1, 6))
    for kernel, dilation in [(1, 1), (2, 1), (3, 2), (4, 1)]:
        w = flow.tensor(numbers(1, 1, kernel))
        out = F.conv1d(x, w, padding="same", dilation=dilation)
        whole = dilation * (kernel - 1)
        wide = flow.constant_pad_nd(x, (whole // 2, whole - whole // 2))
        np.testing.assert_array_equal(out.numpy(), F.conv1d(wide, w, padding="valid", dilation=dilation).numpy())


@pytest.mark.parametrize("dtype", [flow.bfloat16, flow.float16, flow.int64, flow.complex64])
def test_a_convolution_keeps_the_dtype(dtype):
    x, w = flow.tensor(np.arange(12).reshape(1, 2, 6)).to(dtype), flow.tensor(np.ones((1, 2, 3), int)).to(dtype)
    assert F.conv1d(x, w).dtype == dtype
    np.testing.assert_array_equal(
        F.conv1d(x, w).to(flow.float64).numpy() if dtype.kind != "c" else F.conv1d(x, w).numpy().real,
        [[[24, 30, 36, 42]]],
    )
    assert F.conv_transpose1d(x, flow.tensor(np.ones((2, 1, 3), int)).to(dtype)).dtype == dtype


def test_a_convolution_of_time_first():
    x, w, b = numbers(5, 2, 3), numbers(3, 3, 4), numbers(4)
    out = F.conv_tbc(flow.tensor(x), flow.tensor(w), flow.tensor(b), 1)
    expected = F.conv1d(flow.tensor(x.transpose(1, 2, 0)), flow.tensor(w.transpose(2, 1, 0)), flow.tensor(b), padding=1)
    np.testing.assert_array_equal(out.numpy(), expected.numpy().transpose(2, 0, 1))


def test_arguments_that_do_not_fit_are_refused():
    x, w = flow.ones(1, 2, 5), flow.ones(3, 2, 2)
    for wrong in (
        {"stride": 0}, {"stride": (1, 2)}, {"padding": -1}, {"padding": "full"}, {"dilation": 0}, {"groups": 2}, {"groups": 0},
        {"padding": "same", "stride": 2}, {"bias": flow.ones(2)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="conv"):
            F.conv1d(x, w, **wrong)
    with pytest.raises(ValueError, match="input f32\\[5\\] must have 3 dims"):
        F.conv1d(flow.ones(5), w)
    with pytest.raises(ValueError, match="weight f32\\[3, 2, 2\\] must have 4 dims"):
        F.conv2d(x, w)
    with pytest.raises(ValueError, match="larger than the input"):
        F.conv1d(x, flow.ones(3, 2, 6))
    with pytest.raises(TypeError, match="one dtype"):
        F.conv1d(x, w.double())
    with pytest.raises(TypeError, match="expected an int or 1 ints"):
        F.conv1d(x, w, stride=1.0)
    with pytest.raises(ValueError, match="output_padding"):
        F.conv_transpose1d(x, flow.ones(2, 1, 2), output_padding=1)
    with pytest.raises(ValueError, match="gives a size"):
        F.conv_transpose1d(flow.ones(1, 2, 1), flow.ones(2, 1, 1), padding=1)
    with pytest.raises(ValueError, match="3 channels"):
        F.conv_transpose1d(x, flow.ones(3, 1, 2))


@examples(40)
@given(st.data())
def test_unfold_and_fold_are_adjoint(data):
    two = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(2))  # noqa: E731
    kernel, attrs = two(1, 3), {"dilation": two(1, 2), "padding": two(0, 1), "stride": two(1, 2)}
    size = two(5, 7)
    x = numbers(2, 3, *size)
    columns = F.unfold(flow.tensor(x), kernel, **attrs)
    g = numbers(*columns.shape, seed=1)
    back = F.fold(flow.tensor(g), size, kernel, **attrs)
    np.testing.assert_allclose((back.numpy() * x).sum(), (g * columns.numpy()).sum(), atol=1e-9)
    np.testing.assert_array_equal(F.unfold(flow.tensor(x[0]), kernel, **attrs).numpy(), columns.numpy()[0])


def test_columns_hold_a_channel_s_window_row_by_row():
    x = np.arange(2 * 3 * 4).reshape(1, 2, 3, 4)
    out = F.unfold(flow.tensor(x), (2, 3)).numpy()
    expected = np.stack([x[0, :, i : i + 2, j : j + 3].reshape(-1) for i in range(2) for j in range(2)], -1)
    np.testing.assert_array_equal(out[0], expected)
    with pytest.raises(ValueError, match="5 columns"):
        F.fold(flow.ones(1, 12, 5), (3, 4), (2, 3))
    with pytest.raises(ValueError, match="no multiple of the 6"):
        F.fold(flow.ones(1, 11, 4), (3, 4), (2, 3))
    with pytest.raises(ValueError, match="an int or 2 ints"):
        F.unfold(flow.ones(1, 2, 3, 4), (2,))


GRADIENTS = {
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, 2, 1, 1, 2), numbers(2, 2, 4), numbers(2, 1, 3), numbers(2)),
    "conv2d same": (lambda x, w: F.conv2d(x, w, padding="same", dilation=(1, 2)), numbers(1, 2, 3, 3), numbers(2, 2, 2, 2)),
    "conv3d": (lambda x, w, b: F.conv3d(x, w, b), numbers(1, 2, 2, 2, 3), numbers(1, 2, 1, 2, 2), numbers(1)),
    "conv_transpose1d": (
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 3, 2, 4), numbers(1, 2, 3), numbers(2, 1, 2), numbers(2)
    ),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, None, 2, 0, 1), numbers(1, 2, 2, 2), numbers(2, 1, 2, 2)),
    "unfold": (lambda x: F.unfold(x, 2, 1, 1, 2), numbers(1, 2, 3, 3)),
    "fold": (lambda x: F.fold(x, (3, 3), 2), numbers(1, 4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_finite_differences(name):
    function, *arrays = GRADIENTS[name]
    check_grads(function, *arrays)
