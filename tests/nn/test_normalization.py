"""Norms equal their definitions in numpy; running statistics move in place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tensors(*arrays):
    return [a if a is None else flow.tensor(a) for a in arrays]


def normalised(x, dims, eps):
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


def affine(y, weight, bias):
    shape = (-1, *[1] * (y.ndim - 2))
    return y * (1 if weight is None else weight.reshape(shape)) + (0 if bias is None else bias.reshape(shape))


@st.composite
def batches(draw, least=0):
    """(x (batch, channels, *size), weight, bias)."""
    size = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(least, 3)))]
    batch, channels = draw(st.integers(2, 3)), draw(st.sampled_from([1, 2, 4]))
    x = numbers(batch, channels, *size, seed=draw(st.integers(0, 9)))
    return (x, *[numbers(channels, seed=s) if draw(st.booleans()) else None for s in (1, 2)])


@examples(50)
@given(batches(), st.sampled_from([0.1, 0.7, 0.0]))
def test_batch_norm_in_training_and_out_of_it(drawn, momentum):
    x, weight, bias = drawn
    channels, dims = x.shape[1], (0, *range(2, x.ndim))
    mean, var = numbers(channels, seed=3), 1 + numbers(channels, seed=4) ** 2
    running = tensors(mean, var)
    out = F.batch_norm(*tensors(x), *running, *tensors(weight, bias), True, momentum, 0.1)
    np.testing.assert_allclose(out.numpy(), affine(normalised(x, dims, 0.1), weight, bias), atol=1e-12)
    moved = (1 - momentum) * mean + momentum * x.mean(dims), (1 - momentum) * var + momentum * x.var(dims, ddof=1)
    for found, expected in zip(running, moved, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
    out = F.batch_norm(*tensors(x), *tensors(mean, var), *tensors(weight, bias), eps=0.1)
    shape = (-1, *[1] * (x.ndim - 2))
    expected = affine((x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 0.1), weight, bias)
    np.testing.assert_allclose(out.numpy(), expected, atol=1e-12)


@examples(50)
@given(batches(least=1))
def test_instance_norm_is_of_each_example_alone(drawn):
    x, weight, bias = drawn
    dims, channels = tuple(range(2, x.ndim)), x.shape[1]
    if x[0, 0].size == 1:
        with pytest.raises(ValueError, match="more than one element"):
            F.instance_norm(*tensors(x))
        return
    running = tensors(np.zeros(channels), np.ones(channels))
    out = F.instance_norm(*tensors(x), *running, *tensors(weight, bias), momentum=1.0)
    np.testing.assert_allclose(out.numpy(), affine(normalised(x, dims, 1e-5), weight, bias), atol=1e-9)
    np.testing.assert_allclose(running[0].numpy(), x.mean(dims).mean(0), atol=1e-12)
    np.testing.assert_allclose(running[1].numpy(), x.var(dims, ddof=1).mean(0), atol=1e-12)
    fixed = F.instance_norm(*tensors(x), *running, use_input_stats=False)
    np.testing.assert_array_equal(fixed.numpy(), F.batch_norm(*tensors(x), *running).numpy())


@examples(50)
@given(batches(), st.sampled_from([1, 2, 4]))
def test_group_norm_is_of_groups_of_channels(drawn, groups):
    x, weight, bias = drawn
    if x.shape[1] % groups:
        with pytest.raises(ValueError, match="divides the"):
            F.group_norm(flow.tensor(x), groups)
        return
    rows = normalised(x.reshape(x.shape[0], groups, -1), (2,), 0.1).reshape(x.shape)
    out = F.group_norm(flow.tensor(x), groups, *tensors(weight, bias), eps=0.1)
    np.testing.assert_allclose(out.numpy(), affine(rows, weight, bias), atol=1e-12)


@examples(30)
@given(st.integers(1, 3), st.booleans())
def test_rms_norm_divides_by_the_root_mean_square(num_dims, scaled):
    x = numbers(2, 3, 2, 2)
    shape = x.shape[4 - num_dims :]
    weight = numbers(*shape, seed=1) if scaled else None
    out = F.rms_norm(flow.tensor(x), shape, *tensors(weight), eps=0.1).numpy()
    root = np.sqrt((x**2).mean(tuple(range(4 - num_dims, 4)), keepdims=True) + 0.1)
    np.testing.assert_allclose(out, x / root * (1 if weight is None else weight), atol=1e-12)
    tiny = flow.zeros(2, 3)
    assert F.rms_norm(tiny, 3).tolist() == tiny.tolist()
    assert F.rms_norm(tiny.to(flow.bfloat16) + 1, (3,)).dtype == flow.bfloat16


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 4, 2, 2), (1, 3, 2, 1, 2)])
def test_local_response_norm_looks_at_channels_around(size, shape):
    x = numbers(*shape)
    squares = np.zeros(shape)
    for c in range(shape[1]):
        around = slice(max(c - size // 2, 0), c + (size - 1) // 2 + 1)
        squares[:, c] = (x[:, around] ** 2).sum(1) / size
    out = F.local_response_norm(flow.tensor(x), size, 0.3, 0.6, 2.0).numpy()
    np.testing.assert_allclose(out, x / (2 + 0.3 * squares) ** 0.6, atol=1e-12)


@pytest.mark.parametrize("p", [1, 2.0, 3, 0.5, np.inf])
def test_normalize_divides_by_the_norm(p):
    x = numbers(2, 3, 4)
    norm = abs(x).max(1, keepdims=True) if p == np.inf else (abs(x) ** p).sum(1, keepdims=True) ** (1 / p)
    np.testing.assert_allclose(F.normalize(flow.tensor(x), p).numpy(), x / norm, atol=1e-12)
    assert F.normalize(flow.zeros(2, 3), eps=1.0).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("dtype", [flow.bfloat16, flow.float16])
def test_a_norm_of_16_bit_floats_is_rounded_once(dtype):
    x = flow.tensor(numbers(4, 2, 5)).to(dtype)
    mean, var = flow.zeros(2), flow.ones(2)
    out = F.batch_norm(x, mean, var, flow.ones(2), training=True)
    assert out.dtype == dtype
    wide = F.batch_norm(x.float(), None, None, training=True)
    np.testing.assert_array_equal(out.numpy(), wide.to(dtype).numpy())
    np.testing.assert_array_equal(F.group_norm(x, 1).numpy(), F.group_norm(x.float(), 1).to(dtype).numpy())


def test_running_statistics_are_no_part_of_the_graph():
    x = flow.tensor(numbers(4, 2), requires_grad=True)
    mean, var = tensors(np.zeros(2), np.ones(2))
    (F.batch_norm(x, mean, var, training=True) ** 2).sum().backward()
    assert x.grad.shape == (4, 2)
    assert not mean.requires_grad
    assert mean.grad_fn is None
    with autograd.no_grad():
        F.batch_norm(x, mean, var, training=True)
    assert mean.version == 2


def test_arguments_that_do_not_fit_are_refused():
    x, two = flow.ones(1, 2, 1), flow.ones(2)
    with pytest.raises(ValueError, match="more than one value a channel"):
        F.batch_norm(x, two, two, training=True)
    with pytest.raises(ValueError, match="are needed where training is False"):
        F.batch_norm(x, None, None)
    with pytest.raises(ValueError, match="running_mean is f32"):
        F.batch_norm(x, flow.ones(3), two)
    with pytest.raises(ValueError, match="two dims at least"):
        F.batch_norm(flow.ones(3), two, two)
    with pytest.raises(TypeError, match="float type"):
        F.group_norm(x.long(), 1)
    with pytest.raises(ValueError, match="one value alone"):
        F.group_norm(x, 2)
    with pytest.raises(ValueError, match="3 dims at least"):
        F.local_response_norm(flow.ones(2, 2), 1)
    with pytest.raises(ValueError, match="normalized_shape"):
        F.rms_norm(x, (2, 2))


W, B = numbers(4, seed=1), numbers(4, seed=2)
GRADIENTS = {
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True, eps=0.1), numbers(2, 4, 2), W, B),
    "instance_norm": (lambda x, w: F.instance_norm(x, weight=w, eps=0.1), numbers(1, 4, 3), W),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b, 0.1), numbers(1, 4, 2), W, B),
    "rms_norm": (lambda x, w: F.rms_norm(x, 4, w, 0.1), numbers(2, 4), W),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3, 0.5), numbers(1, 4, 2)),
    "normalize": (lambda x: F.normalize(x, 3.0), 1 + np.abs(numbers(2, 4))),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_finite_differences(name):
    function, *arrays = GRADIENTS[name]
    check_grads(function, *arrays)
