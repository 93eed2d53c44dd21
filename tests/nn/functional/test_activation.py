"""Activations equal their formulas in numpy, gradients included; they write into their input where asked, and refuse what is no number."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805

# name, arguments, the formula of float64 arrays
FORMULAS = [
    ("relu", (), lambda x: np.where(x > 0, x, 0)),
    ("relu6", (), lambda x: np.clip(x, 0, 6)),
    ("hardtanh", (), lambda x: np.clip(x, -1, 1)),
    ("hardtanh", (-2.0, 0.5), lambda x: np.clip(x, -2, 0.5)),
    ("elu", (), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    ("elu", (-0.5,), lambda x: np.where(x > 0, x, -0.5 * np.expm1(np.minimum(x, 0)))),
    ("selu", (), lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0)))),
    ("celu", (0.3,), lambda x: np.where(x > 0, x, 0.3 * np.expm1(np.minimum(x, 0) / 0.3))),
    ("leaky_relu", (), lambda x: np.where(x > 0, x, 0.01 * x)),
    ("leaky_relu", (-1.5,), lambda x: np.where(x > 0, x, -1.5 * x)),
    ("rrelu", (), lambda x: np.where(x > 0, x, (1 / 8 + 1 / 3) / 2 * x)),
    ("threshold", (0.7, -3.0), lambda x: np.where(x > 0.7, x, -3)),
    ("hardshrink", (), lambda x: np.where(abs(x) > 0.5, x, 0)),
    ("hardshrink", (-0.5,), lambda x: x),
    ("softshrink", (), lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0)),
    ("tanhshrink", (), lambda x: x - np.tanh(x)),
    ("softsign", (), lambda x: x / (1 + abs(x))),
    ("gelu", (), lambda x: x * special.ndtr(x)),
    ("sigmoid", (), special.expit),
    ("tanh", (), np.tanh),
    ("silu", (), lambda x: x * special.expit(x)),
    ("mish", (), lambda x: x * np.tanh(np.logaddexp(0, x))),
    ("hardswish", (), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("hardsigmoid", (), lambda x: np.clip(x + 3, 0, 6) / 6),
    ("softplus", (2, 3), lambda x: np.where(2 * x > 3, x, np.logaddexp(0, 2 * x) / 2)),
    ("logsigmoid", (), lambda x: -np.logaddexp(0, -x)),
]
IDS = [f"{name}{args}" for name, args, _ in FORMULAS]
SHAPES = st.sampled_from([(), (0,), (1,), (7,), (3, 0, 2), (2, 3, 5)])
INPLACE = "relu relu6 hardtanh elu selu celu leaky_relu rrelu silu mish hardswish hardsigmoid".split()


def numbers(shape, seed=0, spread=4):
    return np.random.default_rng(seed).standard_normal(shape) * spread


@pytest.mark.parametrize(("name", "args", "formula"), FORMULAS, ids=IDS)
@examples(10)
@given(SHAPES, st.sampled_from(["float64", "float32", "float16", "bfloat16"]), st.integers(0, 9))
def test_values_are_the_formulas(name, args, formula, shape, dtype, seed):
    x = flow.tensor(numbers(shape, seed)).to(dtype)
    y = getattr(F, name)(x, *args)
    assert y.shape == shape
    assert y.dtype is x.dtype
    wide = x.numpy().astype(np.float64)
    tolerance = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    found, expected = y.numpy().astype(np.float64), formula(wide)
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * 4 if name == "tanhshrink" else tolerance
    )


@pytest.mark.parametrize(("name", "args", "formula"), FORMULAS, ids=IDS)
def test_gradients_are_those_of_differences(name, args, formula):
    x = numbers((12,), 3, 2)
    for kink in (-3, -2, -1, -0.5, 0, 0.5, 0.7, 1, 1.5, 6):  # no difference is taken across a kink
        x = np.where(abs(x - kink) < 1e-2, kink + 0.05, x)
    check_grads(lambda t: getattr(F, name)(t, *args), x)


@pytest.mark.parametrize(("name", "args", "formula"), FORMULAS, ids=IDS)
def test_far_from_zero_nothing_overflows_and_nan_stays(name, args, formula):
    x = flow.tensor([-1e4, 1e4, math.nan], requires_grad=True)
    y = getattr(F, name)(x, *args)
    (g,) = autograd.grad(flow.sum(y), (x,))
    assert np.isfinite(y.detach().numpy()[:2]).all()
    assert np.isnan(y.detach().numpy()[2])
    assert np.isfinite(g.numpy()[:2]).all()


# name, arguments, place of a kink, gradient there
KINKS = [
    ("relu", (), 0.0, 0.0), ("relu6", (), 0.0, 0.0), ("relu6", (), 6.0, 0.0), ("hardtanh", (), -1.0, 0.0), ("hardtanh", (), 1.0, 0.0),
    ("elu", (0.5,), 0.0, 0.5), ("celu", (0.5,), 0.0, 1.0), ("selu", (), 0.0, ALPHA * SCALE), ("leaky_relu", (0.2,), 0.0, 0.2),
    ("threshold", (2.0, 1.0), 2.0, 0.0), ("hardshrink", (), 0.5, 0.0), ("softshrink", (), -0.5, 0.0),
    ("hardswish", (), -3.0, 0.0), ("hardswish", (), 3.0, 1.0), ("hardsigmoid", (), 3.0, 0.0), ("hardsigmoid", (), -3.0, 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "place", "slope"), KINKS)
def test_the_gradient_at_a_kink_is_pytorchs(name, args, place, slope):
    x = flow.tensor([place], requires_grad=True)
    (g,) = autograd.grad(flow.sum(getattr(F, name)(x, *args)), (x,))
    np.testing.assert_allclose(g.numpy(), [slope], rtol=1e-6)


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_writes_the_same_and_is_refused_where_recorded(name):
    x = numbers((3, 4), 1)
    expected = getattr(F, name)(flow.tensor(x)).numpy()
    spellings = [lambda t: getattr(F, name)(t, inplace=True)]
    spellings += [getattr(F, f"{name}_")] if hasattr(F, f"{name}_") else []
    for spelling in spellings:
        t = flow.tensor(x)
        assert spelling(t) is t
        np.testing.assert_array_equal(t.numpy(), expected)
        with pytest.raises(ValueError, match="requires grad"):
            spelling(flow.tensor(x, requires_grad=True))


def test_in_place_by_position():
    for call in (
        lambda t: F.elu(t, 1.0, True),
        lambda t: F.threshold(t, 0.0, 0.0, True),
        lambda t: F.threshold_(t, 0, 0),
    ):
        t = flow.tensor([-1.0, 2.0])
        assert call(t) is t
        assert t.numpy()[0] < 0.1


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_integers_stay_integers(dtype):
    x = flow.tensor([0, 1, 5, 9]).to(dtype)
    for y, expected in [
        (F.relu(x), [0, 1, 5, 9]),
        (F.relu6(x), [0, 1, 5, 6]),
        (F.hardtanh(x, 1, 5), [1, 1, 5, 5]),
        (F.threshold(x, 4.5, 2.5), [2, 2, 5, 9]),
    ]:
        assert y.dtype is x.dtype
        assert y.numpy().tolist() == expected
    assert F.softsign(x).dtype is F.tanhshrink(x).dtype is flow.float32


def test_complex_silu_and_tanhshrink():
    z = numbers(5) + 1j * numbers(5, 1)
    np.testing.assert_allclose(F.silu(flow.tensor(z)).numpy(), z / (1 + np.exp(-z)), rtol=1e-12)
    np.testing.assert_allclose(F.tanhshrink(flow.tensor(z)).numpy(), z - np.tanh(z), rtol=1e-12, atol=1e-12)


@examples(30)
@given(st.sampled_from([(3,), (4, 1), (4, 3), (2, 3, 2), (0, 3)]), st.booleans())
def test_prelu_has_one_weight_or_one_a_channel(shape, single):
    channels = shape[1] if len(shape) > 1 else 1
    x, w = numbers(shape), numbers((1 if single else channels,), 1)
    by_channel = w.reshape(-1, *[1] * (len(shape) - 2)) if len(shape) > 1 else w
    np.testing.assert_allclose(F.prelu(flow.tensor(x), flow.tensor(w)).numpy(), np.where(x > 0, x, by_channel * x))
    check_grads(F.prelu, x, w)


def test_rrelu_draws_slopes_between_its_bounds():
    flow.manual_seed(0)
    x = flow.full((20000,), -2.0)
    slopes = F.rrelu(x, 0.1, 0.5, training=True).numpy() / -2
    assert slopes.min() >= 0.1
    assert slopes.max() < 0.5
    assert abs(slopes.mean() - 0.3) < 0.005
    assert abs(slopes.std() - 0.4 / math.sqrt(12)) < 0.005
    assert F.rrelu(flow.ones(3), training=True).numpy().tolist() == [1, 1, 1]


@examples(40)
@given(st.sampled_from([(5,), (1, 3), (2, 3, 4), (3, 0, 2)]), st.data())
def test_softmax_and_its_kin(shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = numbers(shape)
    t = flow.tensor(x)
    np.testing.assert_allclose(F.softmax(t, dim).numpy(), special.softmax(x, dim) if x.size else x)
    np.testing.assert_allclose(F.softmin(t, dim=dim).numpy(), special.softmax(-x, dim) if x.size else x)
    np.testing.assert_allclose(F.log_softmax(t, dim).numpy(), special.log_softmax(x, dim) if x.size else x, atol=1e-12)
    for function in (F.softmax, F.softmin, F.log_softmax):
        check_grads(lambda t, f=function: f(t, dim), x)
        assert function(t.to("float32"), dim, dtype=flow.float64).dtype is flow.float64


@pytest.mark.parametrize(("shape", "dim"), [((), 0), ((3,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4, 1), 1)])
def test_the_dim_that_softmax_takes_where_none_is_given(shape, dim):
    x = flow.tensor(numbers(shape))
    for function in (F.softmax, F.softmin, F.log_softmax):
        with pytest.warns(UserWarning, match="dim is not given"):
            y = function(x)
        if shape:
            np.testing.assert_array_equal(y.numpy(), function(x, dim).numpy())


def test_softmax_of_integers_needs_a_dtype():
    assert F.softmax(flow.tensor([1, 1]), 0, dtype=flow.float32).numpy().tolist() == [0.5, 0.5]
    assert F.softmin(flow.tensor([1, 1]), 0, dtype="float64").dtype is flow.float64
    with pytest.raises(TypeError, match="holds integers"):
        F.softmax(flow.tensor([1, 1]), 0)


def test_gumbel_softmax_samples_its_distribution():
    flow.manual_seed(1)
    probs = np.array([0.1, 0.6, 0.3])
    logits = flow.tensor(np.tile(np.log(probs), (20000, 1)), requires_grad=True)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    values = hard.detach().numpy()
    np.testing.assert_allclose(values.sum(-1), 1)
    assert set(np.unique(values.round(9))) == {0, 1}
    np.testing.assert_allclose(values.mean(0), probs, atol=0.015)
    (g,) = autograd.grad(flow.sum(hard * flow.tensor([1.0, 2.0, 3.0])), (logits,))
    assert np.abs(g.numpy()).max() > 0
    soft = F.gumbel_softmax(flow.tensor(numbers((4, 3))), dim=0).numpy()
    np.testing.assert_allclose(soft.sum(0), 1)


@examples(20)
@given(st.sampled_from([((4,), 0), ((2, 6), -1), ((2, 3, 1), 0), ((3, 0), 1)]))
def test_glu_is_a_half_times_the_sigmoid_of_the_other(drawn):
    shape, dim = drawn
    x = numbers(shape)
    a, b = np.split(x, 2, dim)
    np.testing.assert_allclose(F.glu(flow.tensor(x), dim).numpy(), a * special.expit(b))
    check_grads(lambda t: F.glu(t, dim), x)


REFUSED = [
    (lambda: F.relu(flow.tensor([True])), TypeError, "relu.*bools"),
    (lambda: F.elu(flow.tensor([1])), TypeError, "elu.*integers"),
    (lambda: F.relu6(flow.tensor([1j])), TypeError, "complex"),
    (lambda: F.selu([1.0]), TypeError, "list"),
    (lambda: F.celu(flow.ones(2), 0), ValueError, "alpha"),
    (lambda: F.hardtanh(flow.ones(2), 2, 1), ValueError, "min_val 2"),
    (lambda: F.hardtanh(flow.ones(2).to("uint8"), -1, 1), TypeError, "min_val -1"),
    (lambda: F.softshrink(flow.ones(2), -0.5), ValueError, "lambd"),
    (lambda: F.rrelu(flow.ones(2), 0.5, 0.1), ValueError, "lower"),
    (lambda: F.gelu(flow.ones(2), approximate="erf"), ValueError, "approximate"),
    (lambda: F.prelu(flow.ones(2, 3), flow.ones(2)), ValueError, "channels"),
    (lambda: F.prelu(flow.ones(2, 3), flow.ones(3, 1)), ValueError, "vector"),
    (lambda: F.prelu(flow.tensor(1.0), flow.ones(2)), ValueError, "channels"),
    (lambda: F.prelu(flow.ones(2), flow.ones(1).to("float64")), TypeError, "dtype"),
    (lambda: F.glu(flow.ones(3)), ValueError, "odd"),
    (lambda: F.glu(flow.tensor(1.0)), ValueError, "no dims"),
    (lambda: F.glu(flow.ones(2), 1), ValueError, "dim"),
    (lambda: F.gumbel_softmax(flow.ones(2), 0), ValueError, "tau"),
    (lambda: F.leaky_relu(flow.ones(2), "a"), TypeError, "negative_slope"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(call, error, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=message):
            call()


def test_hardswish_of_infinities_has_the_gradients_of_its_ends():
    x = flow.tensor([-np.inf, np.inf, 1e38, -3.0, 3.0], requires_grad=True)
    y = F.hardswish(x)
    y.sum().backward()
    assert y.tolist() == [0, np.inf, flow.tensor(1e38).item(), 0, 3]
    assert x.grad.tolist() == [0, 1, 1, 0, 1]
