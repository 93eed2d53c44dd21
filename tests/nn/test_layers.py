"""Layers compute what their formulas say in plain numpy, in float64 to its last digits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

import flow_core as flow
import flow_nn as nn
from flow_core.testing import examples

CLOSE = dict(rtol=1e-12, atol=1e-12)
dims = st.lists(st.integers(1, 4), max_size=2).map(tuple)
some = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def arrays(module):
    return {name: t.numpy() for name, t in module.state_dict().items()}


@examples(60)
@given(seeds, dims, some, some, st.booleans())
def test_linear_is_one_matrix_product_over_all_its_features(seed, batch, num_in, num_out, bias):
    layer = nn.Linear(num_in, num_out, bias, dtype=flow.float64)
    x = normal(seed, *batch, *num_in)
    own = arrays(layer)
    assert own["weight"].shape == num_out + num_in
    expected = x.reshape(-1, math.prod(num_in)) @ own["weight"].reshape(math.prod(num_out), -1).T
    expected = expected.reshape(*batch, *num_out)
    if bias:
        expected = expected + own["bias"]
    np.testing.assert_allclose(layer(flow.tensor(x)).detach().numpy(), expected, **CLOSE)


def test_linear_of_ints_has_the_shapes_of_pytorch():
    layer = nn.Linear(3, 5)
    assert {name: t.shape for name, t in layer.state_dict().items()} == {"weight": (5, 3), "bias": (5,)}
    assert list(nn.Linear(3, 5, bias=False).state_dict()) == ["weight"]


def test_linear_starts_within_one_over_the_root_of_its_inputs():
    layer = nn.Linear((16, 4), (50, 20))
    for values in arrays(layer).values():
        assert np.abs(values).max() <= 1 / 8
        assert abs(values.std() - 1 / 8 / math.sqrt(3)) < 0.01


@pytest.mark.parametrize("features", [0, -1, True, 1.5, (), (3, 0), None, "8"])
def test_linear_refuses_features_that_are_no_sizes(features):
    with pytest.raises(ValueError, match=r"Linear: features .* are not a positive int or several"):
        nn.Linear(features, 2)
    with pytest.raises(ValueError, match=r"Linear: features .* are not a positive int or several"):
        nn.Linear(2, features)


@examples(60)
@given(seeds, dims, some, st.booleans(), st.sampled_from((1e-5, 1e-2)))
def test_layer_norm_normalises_over_its_dims(seed, batch, shape, bias, eps):
    layer = nn.LayerNorm(shape, eps, bias, dtype=flow.float64)
    for name, t in layer.state_dict().items():
        t.copy_(flow.tensor(normal(seed + (name == "bias"), *shape)))
    x = normal(seed + 2, *batch, *shape) * 3 + 1
    over = tuple(range(len(batch), x.ndim))
    mean, var = x.mean(over, keepdims=True), x.var(over, keepdims=True)
    own = arrays(layer)
    expected = (x - mean) / np.sqrt(var + eps) * own["weight"] + own.get("bias", 0.0)
    np.testing.assert_allclose(layer(flow.tensor(x)).detach().numpy(), expected, **CLOSE)


def test_layer_norm_starts_as_ones_and_zeros_and_goes_back_to_them():
    layer = nn.LayerNorm((2, 3))
    layer.load_state_dict({"weight": normal(0, 2, 3), "bias": normal(1, 2, 3)})
    layer.reset_parameters()
    np.testing.assert_array_equal(arrays(layer)["weight"], np.ones((2, 3)))
    np.testing.assert_array_equal(arrays(layer)["bias"], np.zeros((2, 3)))


def test_layer_norm_refuses_what_does_not_end_in_its_shape():
    for shape in ((3,), (2, 3, 4), ()):
        with pytest.raises(
            ValueError, match=r"layer_norm: normalized_shape .* is not the end of the shape of f32\[3, 4\]"
        ):
            nn.functional.layer_norm(flow.ones(3, 4), shape)
    with pytest.raises(ValueError, match=r"layer_norm: weight is f32\[4, 3\], expected the shape \(3, 4\)"):
        nn.functional.layer_norm(flow.ones(3, 4), (3, 4), flow.ones(4, 3))
    with pytest.raises(ValueError, match=r"layer_norm: bias is f32\[1\], expected the shape \(4,\)"):
        nn.functional.layer_norm(flow.ones(3, 4), 4, None, flow.ones(1))


@examples(40)
@given(seeds, dims, st.integers(1, 9), st.integers(1, 5))
def test_embedding_takes_rows_and_its_gradient_counts_them(seed, shape, rows, channels):
    layer = nn.Embedding(rows, channels, dtype=flow.float64)
    ids = np.random.default_rng(seed).integers(0, rows, shape)
    out = layer(flow.tensor(ids))
    np.testing.assert_array_equal(out.detach().numpy(), arrays(layer)["weight"][ids])
    out.sum().backward()
    counts = np.bincount(ids.reshape(-1), minlength=rows)
    np.testing.assert_array_equal(layer.weight.grad.numpy(), np.repeat(counts[:, None], channels, 1))


@pytest.mark.parametrize("wrong", [5, -6])
def test_embedding_refuses_ids_outside_of_its_table(wrong):
    with pytest.raises(IndexError, match=str(wrong)):
        nn.Embedding(5, 2)(flow.tensor([0, wrong]))


@examples(40)
@given(seeds, some)
def test_gelu_is_x_times_the_normal_distribution_function(seed, shape):
    x = normal(seed, *shape) * 3
    exact = x * 0.5 * (1 + erf(x / math.sqrt(2)))
    np.testing.assert_allclose(nn.GELU()(flow.tensor(x)).numpy(), exact, **CLOSE)
    tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(nn.GELU("tanh")(flow.tensor(x)).numpy(), tanh, **CLOSE)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_zeroes_a_share_and_keeps_the_mean(p):
    x = flow.ones(200, 100)
    out = nn.Dropout(p)(x).numpy()
    np.testing.assert_allclose(np.unique(out), [0, 1 / (1 - p)], rtol=1e-6)
    share, spread = np.mean(out == 0), math.sqrt(p * (1 - p) / out.size)
    assert abs(share - p) < 5 * spread
    rows = np.mean(out == 0, axis=1)
    assert rows.std() == pytest.approx(math.sqrt(p * (1 - p) / 100), rel=0.3)


def test_dropout_draws_anew_and_from_the_seed():
    layer, x = nn.Dropout(0.5), flow.ones(64)
    flow.manual_seed(3)
    first, second = layer(x).numpy(), layer(x).numpy()
    flow.manual_seed(3)
    np.testing.assert_array_equal(layer(x).numpy(), first)
    assert not np.array_equal(first, second)


def test_dropout_does_nothing_in_evaluation_or_without_probability():
    x = flow.ones(8)
    assert nn.Dropout(0.5).eval()(x) is x
    assert nn.Dropout(0.0)(x) is x
    np.testing.assert_array_equal(nn.Dropout(1.0)(x).numpy(), np.zeros(8))


def test_the_gradient_of_dropout_is_its_mask():
    x = flow.ones(50).requires_grad_()
    out = nn.Dropout(0.3)(x)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_dropout_refuses_what_is_no_probability(p):
    with pytest.raises(ValueError, match=r"Dropout: p is .*, expected a probability between 0 and 1"):
        nn.Dropout(p)


def test_sequential_calls_one_after_the_other():
    m = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    x = flow.tensor(normal(0, 5, 3), dtype=flow.float32)
    np.testing.assert_array_equal(m(x).detach().numpy(), m[2](m[1](m[0](x))).detach().numpy())
