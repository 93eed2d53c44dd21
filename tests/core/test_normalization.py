"""The native norms are what their definitions say, statistics included, and refuse shapes that do not fit."""

import numpy as np
import pytest

import flow_core as flow

RNG = np.random.default_rng(4)
F16, F32, F64 = flow.float16, flow.float32, flow.float64


def tensors(*shapes, dtype=F64):
    return [None if s is None else flow.from_numpy(RNG.normal(size=s).astype(dtype)) for s in shapes]


def reference(x, dims, eps):
    """(normalised, mean, rstd), dims kept."""
    mean, rstd = x.mean(dims, keepdims=True), 1 / np.sqrt(x.var(dims, keepdims=True) + eps)
    return (x - mean) * rstd, mean, rstd


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm_is_over_the_last_dims(shape, affine):
    x, weight, bias = tensors((4, 2, 3), *([shape, shape] if affine else [None, None]))
    out, mean, rstd = flow.native_layer_norm(x, shape, weight, bias, 0.5)
    dims = tuple(range(3 - len(shape), 3))
    h, *expected = reference(x.numpy(), dims, 0.5)
    np.testing.assert_allclose(out.numpy(), h * weight.numpy() + bias.numpy() if affine else h, rtol=1e-12)
    for found, value in zip((mean, rstd), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-12)


@pytest.mark.parametrize("group", [1, 2, 4])
def test_group_norm_is_over_the_channels_of_a_group(group):
    x, weight, bias = tensors((2, 4, 3, 1), (4,), (4,))
    out, mean, rstd = flow.native_group_norm(x, weight, bias, 2, 4, 3, group, 1e-5)
    h, *expected = reference(x.numpy().reshape(2, group, -1), (2,), 1e-5)
    h = h.reshape(2, 4, 3, 1) * weight.numpy().reshape(4, 1, 1) + bias.numpy().reshape(4, 1, 1)
    np.testing.assert_allclose(out.numpy(), h, rtol=1e-9)
    for found, value in zip((mean, rstd), expected, strict=True):
        assert found.shape == (2, group)
        np.testing.assert_allclose(found.numpy(), value[..., 0], rtol=1e-12)


def test_batch_norm_moves_its_running_statistics_in_training():
    x, weight, bias, mean, var = *tensors((4, 3, 2), (3,), (3,)), flow.zeros(3, dtype=F64), flow.ones(3, dtype=F64)
    out, saved, rstd = flow.native_batch_norm(x, weight, bias, mean, var, True, 0.1, 1e-5)
    h, *expected = reference(x.numpy(), (0, 2), 1e-5)
    scale, shift = weight.numpy().reshape(3, 1), bias.numpy().reshape(3, 1)
    np.testing.assert_allclose(out.numpy(), h * scale + shift, rtol=1e-9)
    for found, value in zip((saved, rstd), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), value.ravel(), rtol=1e-12)
    np.testing.assert_allclose(mean.numpy(), 0.1 * x.numpy().mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.9 + 0.1 * x.numpy().var((0, 2), ddof=1))
    assert (mean.version, var.version) == (1, 1)

    before = mean.numpy().copy()
    out, saved, rstd = flow.native_batch_norm(x, weight, bias, mean, var, False, 0.1, 1e-5)
    m, r = mean.numpy().reshape(3, 1), 1 / np.sqrt(var.numpy().reshape(3, 1) + 1e-5)
    np.testing.assert_allclose(out.numpy(), (x.numpy() - m) * r * scale + shift, rtol=1e-9)
    assert saved.shape == rstd.shape == (0,)
    np.testing.assert_array_equal(mean.numpy(), before)


def test_batch_norm_goes_without_running_statistics():
    x, weight, bias = tensors((4, 3), (3,), (3,))
    for out in (
        flow.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5),
        flow._native_batch_norm_legit(x, weight, bias, True, 0.1, 1e-5),
        flow._native_batch_norm_legit(x, weight, bias, training=True, momentum=0.1, eps=1e-5),
    ):
        h = reference(x.numpy(), (0,), 1e-5)[0] * weight.numpy() + bias.numpy()
        np.testing.assert_allclose(out[0].numpy(), h, rtol=1e-9)
    mean, var = flow.zeros(3, dtype=F64), flow.ones(3, dtype=F64)
    out = flow._native_batch_norm_legit_no_training(x, weight, bias, mean, var, 0.1, 0.0)[0]
    np.testing.assert_allclose(out.numpy(), x.numpy() * weight.numpy() + bias.numpy(), rtol=1e-12)
    out, _, _, reserve = flow._batch_norm_with_update(x, None, None, mean, var, 0.1, 1e-5)
    np.testing.assert_allclose(out.numpy(), reference(x.numpy(), (0,), 1e-5)[0], rtol=1e-9)
    assert (reserve.dtype, reserve.shape, mean.version) == (flow.uint8, (0,), 1)


def test_16_bit_floats_are_computed_in_float32():
    (x,) = tensors((4, 64), dtype=F16)
    out, mean, rstd = flow.native_layer_norm(x, (64,), None, None, 1e-5)
    assert (out.dtype, mean.dtype, rstd.dtype) == (F16, F32, F32)
    exact = reference(x.numpy().astype(F64), (1,), 1e-5)[0]
    np.testing.assert_allclose(out.numpy().astype(F64), exact, rtol=2**-10, atol=2**-14)


def test_a_negative_eps_is_taken_as_it_is():
    x = flow.tensor([[0.0, 2.0], [0.0, 1.0]])
    out, _, rstd = flow.layer_norm(x, None, None, eps=-0.5)
    assert rstd.numpy()[0] == np.float32(1 / np.sqrt(0.5))
    assert np.isnan(rstd.numpy()[1])
    assert np.isnan(out.numpy()[1]).all()


X = flow.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: flow.native_layer_norm(X, (), None, None, 0), ValueError, "normalized_shape is empty"),
        (lambda: flow.native_layer_norm(X, (2,), None, None, 0), ValueError, "not the end of the shape"),
        (lambda: flow.native_layer_norm(X, (3,), X, None, 0), ValueError, r"weight is f32\[2, 3\], expected"),
        (lambda: flow.native_layer_norm(X.long(), (3,), None, None, 0), TypeError, "input is i64.* floats"),
        (lambda: flow.native_group_norm(X, None, None, 2, 3, 1, 2, 0), ValueError, "group 2 do not fit"),
        (lambda: flow.native_group_norm(X, X, None, 2, 3, 1, 1, 0), ValueError, "native_group_norm: weight"),
        (lambda: flow.native_batch_norm(X, None, None, None, None, False, 0, 0), ValueError, "running_mean and"),
        (lambda: flow.native_batch_norm(X[0], None, None, None, None, True, 0, 0), ValueError, "2 dims or more"),
        (lambda: flow.native_batch_norm(X, X, None, None, None, True, 0, 0), ValueError, "weight is"),
        (lambda: flow._native_batch_norm_legit(X, None, None, True), TypeError, "expected"),
        (lambda: flow._batch_norm_with_update(X, None, None, None, None, 0, 0), ValueError, "running_mean"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
