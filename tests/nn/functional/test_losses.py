"""Losses of numbers, probabilities and margins against their formulas in numpy: values, reductions, broadcasting, dtypes, errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, rel_entr

import flow_core as flow
import flow_nn.functional as F
from flow_autograd.testing import check_grads
from flow_core.testing import examples

seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
REDUCE = {"none": lambda losses: losses, "sum": np.sum, "mean": np.mean}


def relu(x):
    return np.maximum(x, 0)


def bend(gap, width):
    return np.where(np.abs(gap) < width, gap**2 / 2, width * (np.abs(gap) - width / 2))


def stirling(t):
    t = np.maximum(t, 1.0)
    return t * np.log(t) - t + np.log(2 * math.pi * t) / 2


def probability(rng, shape):
    return rng.uniform(0.05, 0.95, shape)


def sign(rng, shape):
    return rng.choice([-1.0, 1.0], shape)


def number(rng, shape):
    return rng.normal(size=shape)


def positive(rng, shape):
    return rng.uniform(0.2, 3, shape)


# The losses that make an element of one of each argument: the function, its formula, and how its arguments are drawn.
ELEMENTWISE = {
    "l1": (F.l1_loss, lambda x, y: np.abs(x - y), number, number),
    "mse": (F.mse_loss, lambda x, y: (x - y) ** 2, number, number),
    "smooth_l1": (
        lambda x, y, **kw: F.smooth_l1_loss(x, y, beta=0.7, **kw),
        lambda x, y: bend(x - y, 0.7) / 0.7,
        number,
        number,
    ),
    "smooth_l1 of 0": (
        lambda x, y, **kw: F.smooth_l1_loss(x, y, beta=0, **kw),
        lambda x, y: np.abs(x - y),
        number,
        number,
    ),
    "huber": (lambda x, y, **kw: F.huber_loss(x, y, delta=0.7, **kw), lambda x, y: bend(x - y, 0.7), number, number),
    "poisson": (F.poisson_nll_loss, lambda x, y: np.exp(x) - y * x, number, positive),
    "poisson of means": (
        lambda x, y, **kw: F.poisson_nll_loss(x, y, False, True, **kw),
        lambda x, y: x - y * np.log(x + 1e-8) + np.where(y > 1, stirling(y), 0),
        positive,
        positive,
    ),
    "gaussian": (
        lambda x, y, v, **kw: F.gaussian_nll_loss(x, y, v, full=True, **kw),
        lambda x, y, v: (np.log(v) + (x - y) ** 2 / v + math.log(2 * math.pi)) / 2,
        number,
        number,
        positive,
    ),
    "cross entropy": (
        F.binary_cross_entropy,
        lambda x, y: -(y * np.log(x) + (1 - y) * np.log(1 - x)),
        probability,
        probability,
    ),
    "logits": (
        F.binary_cross_entropy_with_logits,
        lambda x, y: -(y * np.log(expit(x)) + (1 - y) * np.log(expit(-x))),
        number,
        probability,
    ),
    "weighed logits": (
        lambda x, y, w, p, **kw: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p, **kw),
        lambda x, y, w, p: -w * (p * y * np.log(expit(x)) + (1 - y) * np.log(expit(-x))),
        number,
        probability,
        positive,
        positive,
    ),
    "divergence": (lambda x, y, **kw: F.kl_div(x, y, **kw), lambda x, y: rel_entr(y, np.exp(x)), number, positive),
    "divergence of logs": (
        lambda x, y, **kw: F.kl_div(x, y, log_target=True, **kw),
        lambda x, y: np.exp(y) * (y - x),
        number,
        number,
    ),
    "hinge": (
        lambda x, y, **kw: F.hinge_embedding_loss(x, y, 0.6, **kw),
        lambda x, y: np.where(y == 1, x, relu(0.6 - x)),
        number,
        sign,
    ),
    "soft margin": (F.soft_margin_loss, lambda x, y: np.log1p(np.exp(-y * x)), number, sign),
    "ranking": (
        lambda a, b, y, **kw: F.margin_ranking_loss(a, b, y, 0.3, **kw),
        lambda a, b, y: relu(0.3 - y * (a - b)),
        number,
        number,
        sign,
    ),
}
quiet = pytest.mark.filterwarnings(
    "ignore:kl_div. reduction:UserWarning",
    "ignore:Mean of empty:RuntimeWarning",
    "ignore:invalid value:RuntimeWarning",
)


@quiet
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_loss_of_elements_is_its_formula(name):
    function, formula, *kinds = ELEMENTWISE[name]

    @examples(25)
    @given(seeds, shapes, st.sampled_from([flow.float32, flow.float64]))
    def law(seed, shape, dtype):
        rng = np.random.default_rng(seed)
        arrays = [kind(rng, shape).astype(dtype) if shape else np.asarray(kind(rng, shape), dtype) for kind in kinds]
        tolerance = 1e-12 if dtype is flow.float64 else 2e-5
        for reduction, reduce in REDUCE.items():
            found = function(*map(flow.tensor, arrays), reduction=reduction)
            expected = reduce(formula(*[a.astype(np.float64) for a in arrays]))
            assert found.dtype is dtype
            np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance * 10)

    law()


@quiet
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_its_gradients_are_differences(name):
    function, _, *kinds = ELEMENTWISE[name]
    rng = np.random.default_rng(3)
    arrays = [kind(rng, (3, 2)) for kind in kinds]
    fixed = [flow.tensor(a) if kind is sign else None for a, kind in zip(arrays, kinds, strict=True)]
    moving = [a for a, t in zip(arrays, fixed, strict=True) if t is None]

    def of_moving(*given):
        given = iter(given)
        return function(*[next(given) if t is None else t for t in fixed])

    check_grads(of_moving, *moving, rtol=1e-5)


@quiet
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_16_bit_loss_is_computed_in_float32_and_rounded_once(name):
    function, _, *kinds = ELEMENTWISE[name]
    rng = np.random.default_rng(4)
    for dtype in (flow.float16, flow.bfloat16):
        narrow = [flow.tensor(kind(rng, (5,)), dtype=dtype) for kind in kinds]
        found, wide = function(*narrow), function(*[t.to(flow.float32) for t in narrow])
        assert found.dtype is dtype
        np.testing.assert_array_equal(found.numpy(), wide.to(dtype).numpy())


@pytest.mark.parametrize("function", [F.l1_loss, F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_shapes_that_broadcast_are_warned_of(function):
    with pytest.warns(UserWarning, match=r"has not the shape of input f32\[2, 3\]"):
        assert function(flow.zeros(2, 3), flow.zeros(3), reduction="none").shape == (2, 3)


def test_weights_of_numbers_weigh_the_mean_too():
    x, y, w = flow.tensor([1.0, 2.0]), flow.tensor([0.0, 0.0]), flow.tensor([1.0, 3.0])
    assert F.mse_loss(x, y, weight=w).item() == (1 + 3 * 4) / 4
    assert F.l1_loss(x, y, weight=w).item() == (1 + 3 * 2) / 4
    assert F.l1_loss(x, y, weight=w, reduction="sum").item() == 7
    assert F.huber_loss(x, y, weight=w).item() == (0.5 + 3 * 1.5) / 2
    for function in (F.mse_loss, F.l1_loss, F.huber_loss):
        with pytest.raises(ValueError, match="must have one shape"):
            function(x, y, weight=flow.ones(1))


def test_the_older_arguments_choose_the_reduction_and_warn():
    x, y = flow.tensor([1.0, 2.0]), flow.zeros(2)
    for (average, reduce), expected in {
        (True, None): 1.5,
        (False, None): 3.0,
        (None, True): 1.5,
        (False, True): 3.0,
    }.items():
        with pytest.warns(UserWarning, match="size_average and reduce will go"):
            assert F.l1_loss(x, y, average, reduce).item() == expected
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert F.l1_loss(x, y, True, False).shape == (2,)
    with pytest.warns(UserWarning, match="elementwise_mean"):
        assert F.l1_loss(x, y, reduction="elementwise_mean").item() == 1.5


def test_batchmean_is_the_divergence_of_the_mean_distribution():
    p, q = np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([[0.6, 0.4], [0.1, 0.9]])
    found = F.kl_div(flow.tensor(np.log(q)), flow.tensor(p), reduction="batchmean")
    assert found.item() == pytest.approx(rel_entr(p, q).sum() / 2)
    with pytest.warns(UserWarning, match="batchmean"):
        assert F.kl_div(flow.tensor(np.log(q)), flow.tensor(p)).item() == pytest.approx(rel_entr(p, q).mean())


def test_certain_probabilities_cost_at_most_a_hundred_and_have_finite_gradients():
    x = flow.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    losses = F.binary_cross_entropy(x, flow.tensor([1.0, 0.0, 0.0, 1.0]), reduction="none")
    np.testing.assert_array_equal(losses.detach().numpy(), [100, 100, 0, 0])
    losses.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [-1e12, 1e12, 0, 0])


def test_logits_of_any_size_are_no_trouble():
    x = flow.tensor([1e4, -1e4], requires_grad=True)
    losses = F.binary_cross_entropy_with_logits(x, flow.tensor([0.0, 1.0]), reduction="none")
    np.testing.assert_array_equal(losses.detach().numpy(), [1e4, 1e4])
    losses.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1, -1])
    assert F.soft_margin_loss(flow.tensor([-1e4]), flow.tensor([1.0])).item() == 1e4


def test_variances_may_be_numbers_and_broadcast_and_are_bounded_below():
    x, y = flow.tensor([[1.0, 2.0], [3.0, 4.0]]), flow.zeros(2, 2)
    v = flow.tensor([2.0, 0.5])
    expected = (np.log([[2.0], [0.5]]) + x.numpy() ** 2 / [[2.0], [0.5]]) / 2
    for var in (v, v.unsqueeze(1)):
        np.testing.assert_allclose(F.gaussian_nll_loss(x, y, var, reduction="none").numpy(), expected, rtol=1e-6)
    assert F.gaussian_nll_loss(x, y, 1.0).item() == pytest.approx(30 / 8)
    low = flow.tensor([0.0], requires_grad=True)
    F.gaussian_nll_loss(flow.tensor([1.0]), flow.tensor([1.0]), low, eps=0.25).backward()
    assert low.grad.item() == 2.0  # of log(0.25) / 2, though var is 0
    with pytest.raises(ValueError, match="negative"):
        F.gaussian_nll_loss(x, y, -1.0)
    with pytest.raises(ValueError, match="does not fit"):
        F.gaussian_nll_loss(x, y, flow.ones(3))


def test_losses_of_integers_are_float32_or_refused():
    x, y = flow.tensor([1, 2]), flow.tensor([3, 5])
    assert F.margin_ranking_loss(x, y, flow.tensor([1, -1]), reduction="none").dtype is flow.float32
    assert F.poisson_nll_loss(x, y).dtype is flow.float32
    assert F.l1_loss(x, y, reduction="sum").dtype is flow.int64
    for function in (F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.l1_loss, F.soft_margin_loss, F.binary_cross_entropy):
        with pytest.raises(TypeError, match="cast"):
            function(x, y)


X, Y = flow.full((2, 3), 0.5), flow.full((2, 3), 0.5)
REFUSED = [
    (lambda: F.l1_loss(X, [1.0]), TypeError, "target is or holds a list"),
    (lambda: F.mse_loss(X, Y, reduction="avg"), ValueError, "'avg' is not a valid value for reduction"),
    (lambda: F.l1_loss(X, flow.ones(4)), ValueError, "broadcast|shape"),
    (lambda: F.smooth_l1_loss(X, Y, beta=-1.0), ValueError, "beta is -1.0"),
    (lambda: F.huber_loss(X, Y, delta=0), ValueError, "delta is 0"),
    (lambda: F.binary_cross_entropy(X, flow.ones(3)), ValueError, "one shape"),
    (lambda: F.binary_cross_entropy(X + 1, Y), ValueError, r"not in \[0, 1\]"),
    (lambda: F.binary_cross_entropy_with_logits(X, flow.ones(3)), ValueError, "one shape"),
    (lambda: F.kl_div(X, Y, reduction="abc"), ValueError, "abc"),
    (lambda: F.margin_ranking_loss(X, Y, flow.ones(3)), ValueError, "equally many dims"),
    (lambda: F.cosine_embedding_loss(X, Y, flow.ones(2, 1)), ValueError, "must have 2 dims"),
    (lambda: F.cosine_embedding_loss(X[0], Y[0], flow.ones(2)), ValueError, "must have 2 dims"),
    (lambda: F.multi_margin_loss(X, flow.tensor([0, 1]), p=3), ValueError, "p is 3"),
    (lambda: F.multi_margin_loss(X, flow.tensor([0, 3])), IndexError, "3"),
    (lambda: F.multi_margin_loss(X, flow.tensor([0])), ValueError, "one element for each row"),
    (lambda: F.multi_margin_loss(X, flow.tensor([0, 1]), weight=flow.ones(2)), ValueError, "weight"),
    (lambda: F.multi_margin_loss(flow.ones(2, 0), flow.tensor([0, 1])), ValueError, "with classes"),
    (lambda: F.multilabel_margin_loss(X, flow.tensor([[0, 3, -1], [0, 1, 2]])), IndexError, "3"),
    (lambda: F.multilabel_margin_loss(X, flow.tensor([[0, -2, -1], [0, 1, 2]])), ValueError, "below -1"),
    (lambda: F.multilabel_margin_loss(X, flow.tensor([0, 1])), ValueError, "shape of input"),
    (lambda: F.triplet_margin_loss(X, X, X, margin=-1.0), ValueError, "margin is -1.0"),
    (lambda: F.triplet_margin_loss(X, X, X[0]), ValueError, "equally many dims"),
    (lambda: F.cosine_similarity(flow.tensor([1]), flow.tensor([1]), dim=0), TypeError, "expected floats"),
    (lambda: F.cosine_similarity(X, Y, dim=2), ValueError, "dim 2"),
    (lambda: F.pdist(X, -1.0), ValueError, "p is -1.0"),
    (lambda: F.bilinear(X, Y, flow.ones(4, 3, 2)), ValueError, "must end in the sizes"),
    (lambda: F.bilinear(X, Y, flow.ones(4, 3, 3), flow.ones(3)), ValueError, "bias"),
    (lambda: F.bilinear(X, Y[0], flow.ones(4, 3, 3)), ValueError, "agree"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(case):
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()
