"""Distributions at a fixed seed: Kolmogorov and Smirnov's distance, chi-square, means and variances within bounds for the sample size.

Each bound is passed by a right sampler with probability 1 - 1e-6 or more; the seeds are fixed, so a test passes or fails for ever.
"""

import math

import numpy as np
import pytest
from scipy import stats

import flow_core as flow

N = 20_000
ALPHA = 1e-6
SAMPLES = {
    "uniform_": (lambda x, g: x.uniform_(-2, 3, generator=g), stats.uniform(-2, 5)),
    "normal_": (lambda x, g: x.normal_(1, 2, generator=g), stats.norm(1, 2)),
    "exponential_": (lambda x, g: x.exponential_(2.5, generator=g), stats.expon(scale=0.4)),
    "log_normal_": (lambda x, g: x.log_normal_(0.5, 0.75, generator=g), stats.lognorm(0.75, scale=math.exp(0.5))),
    "cauchy_": (lambda x, g: x.cauchy_(-1, 0.5, generator=g), stats.cauchy(-1, 0.5)),
    "rand": (lambda x, g: flow.rand(N, dtype=x.dtype, generator=g), stats.uniform()),
    "randn_like": (lambda x, g: flow.randn_like(x, generator=g), stats.norm()),
    "normal of tensors": (lambda x, g: flow.normal(x * 0 + 3, x * 0 + 0.5, generator=g), stats.norm(3, 0.5)),
    "normal of numbers": (lambda x, g: flow.normal(3, 0.5, (N,), dtype=x.dtype, generator=g), stats.norm(3, 0.5)),
}
COUNTS = {
    "poisson": (lambda x, g: flow.poisson(x * 0 + 2.5, generator=g), stats.poisson(2.5)),
    "poisson of a large rate": (lambda x, g: flow.poisson(x * 0 + 300, generator=g), stats.poisson(300)),
    "binomial": (lambda x, g: flow.binomial(x * 0 + 12, x * 0 + 0.3, generator=g), stats.binom(12, 0.3)),
    "geometric_": (lambda x, g: x.geometric_(0.3, generator=g), stats.geom(0.3)),
    "geometric_ of integers": (lambda x, g: x.long().geometric_(0.7, generator=g), stats.geom(0.7)),
    "bernoulli": (lambda x, g: flow.bernoulli(x * 0 + 0.2, generator=g), stats.bernoulli(0.2)),
    "bernoulli of p": (lambda x, g: flow.bernoulli(x, 0.9, generator=g), stats.bernoulli(0.9)),
    "bernoulli_": (lambda x, g: x.long().bernoulli_(flow.tensor(0.5), generator=g), stats.bernoulli(0.5)),
    "randint": (lambda x, g: flow.randint(-3, 4, (N,), generator=g), stats.randint(-3, 4)),
    "random_": (lambda x, g: x.random_(10, 20, generator=g), stats.randint(10, 20)),
    "randint_like": (lambda x, g: flow.randint_like(x, 5, generator=g), stats.randint(0, 5)),
    "random_ of bools": (lambda x, g: x.bool().random_(generator=g), stats.randint(0, 2)),
}


def generator():
    return flow.Generator(20)


@pytest.mark.parametrize("dtype", [flow.float32, flow.float64], ids=str)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_follows_its_distribution(name, dtype):
    draw, law = SAMPLES[name]
    x = draw(flow.zeros(N, dtype=dtype), generator())
    assert (x.shape, x.dtype) == ((N,), dtype)
    assert stats.kstest(x.numpy().astype(float), law.cdf).pvalue > ALPHA


@pytest.mark.parametrize("name", COUNTS)
def test_counts_follow_their_distribution(name):
    draw, law = COUNTS[name]
    x = draw(flow.zeros(N), generator()).numpy().astype(float)
    assert (x == np.round(x)).all()
    # Bins of ten expected counts at least: between quantiles, the tails open.
    edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
    expected = np.diff([0, *law.cdf(edges), 1]) * N
    found = np.histogram(x, [-np.inf, *(edges + 0.5), np.inf])[0]
    keep = expected > 1e-6
    assert found[~keep].sum() == 0
    if keep.sum() > 1:
        assert stats.chisquare(found[keep], expected[keep] * N / expected[keep].sum()).pvalue > ALPHA
    assert abs(x.mean() - law.mean()) < 5 * law.std() / math.sqrt(N)
    fourth = (
        law.stats(moments="k") + 3
    )  # the variance of a sample's variance is (kurtosis - 1) sigma^4 / N, near enough
    assert abs(x.var() - law.var()) < 5 * law.var() * math.sqrt(max(float(fourth) - 1, 0.01) / N) + 5 * law.var() / N


@pytest.mark.parametrize("replacement", [True, False])
def test_places_are_drawn_in_proportion_to_their_weights(replacement):
    weights = np.array([1.0, 0, 2, 5])
    x = flow.tensor(np.tile(weights, (N, 1)))
    places = flow.multinomial(x, 2, replacement, generator=generator()).numpy()
    assert places.shape == (N, 2)
    p = weights / weights.sum()
    found = np.zeros((4, 4))
    np.add.at(found, (places[:, 0], places[:, 1]), 1)
    expected = np.outer(p, p)
    if not replacement:  # the second is drawn among what is left
        with np.errstate(all="ignore"):
            expected = np.where(np.eye(4) > 0, 0, np.outer(p, p) / (1 - p[:, None]))
    assert found[expected == 0].sum() == 0
    assert stats.chisquare(found[expected > 0], expected[expected > 0] * N).pvalue > ALPHA
    assert sorted(flow.multinomial(flow.tensor([1.0, 2, 3]), 3).tolist()) == [0, 1, 2]


def test_orders_are_permutations_and_all_as_likely():
    g = generator()
    orders = [tuple(flow.randperm(3, generator=g).tolist()) for _ in range(3000)]
    names, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(names) == 6
    assert stats.chisquare(counts).pvalue > ALPHA
    assert sorted(flow.randperm(100, dtype=flow.int16, generator=g).tolist()) == list(range(100))
    assert flow.randperm(0).shape == (0,)


def test_complex_numbers_have_unit_variance_and_a_random_angle():
    z = flow.randn(N, dtype=flow.complex128, generator=generator()).numpy()
    assert stats.kstest(z.real, stats.norm(0, math.sqrt(0.5)).cdf).pvalue > ALPHA
    assert stats.kstest(z.imag, stats.norm(0, math.sqrt(0.5)).cdf).pvalue > ALPHA
    assert stats.kstest(np.angle(z), stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > ALPHA
    u = flow.zeros(N, dtype=flow.complex64).uniform_(1, 2, generator=generator())
    assert stats.kstest(u.imag.numpy(), stats.uniform(1, 1).cdf).pvalue > ALPHA
    assert flow.rand(2, dtype=flow.complex64).dtype is flow.complex64
    assert flow.zeros(2, dtype=flow.complex64).normal_().dtype is flow.complex64


def test_certain_outcomes_are_certain():
    p = flow.tensor([0.0, 1.0])
    for _ in range(100):
        assert flow.bernoulli(p).tolist() == [0, 1]
        assert flow.binomial(flow.tensor([7.0, 7.0]), p).tolist() == [0, 7]
        assert flow.poisson(p * 0).tolist() == [0, 0]
        assert flow.zeros(2).geometric_(1).tolist() == [1, 1]
        assert flow.multinomial(p, 1).tolist() == [1]
    assert flow.normal(flow.tensor([1.0, 2.0]), 0.0).tolist() == [1, 2]


def test_a_generator_repeats_itself_from_a_seed_or_a_state():
    g = flow.Generator(device="cpu")
    assert g.manual_seed(5) is g
    assert g.initial_seed() == 5
    first, state = flow.rand(4, generator=g).tolist(), g.get_state()
    second = flow.zeros(4).normal_(generator=g).tolist()
    assert flow.rand(4, generator=g.manual_seed(5)).tolist() == first
    assert flow.zeros(4).normal_(generator=g.set_state(state)).tolist() == second
    twin = g.clone_state()
    assert flow.randperm(9, generator=twin).tolist() == flow.randperm(9, generator=g).tolist()
    seeds = {g.seed() for _ in range(3)}
    assert len(seeds) == 3
    assert g.initial_seed() in seeds
    flow.manual_seed(11)
    assert flow.initial_seed() == 11
    state = flow.get_rng_state()
    a = flow.randn(3).tolist()
    flow.set_rng_state(state)
    assert flow.randn(3).tolist() == a


def test_what_is_drawn_by_a_tensor_has_a_gradient_of_zero_there():
    p = flow.tensor([0.5, 0.25], requires_grad=True)
    for out in (flow.bernoulli(p), flow.poisson(p), flow.normal(p, 1.0)):
        assert not out.is_leaf or not out.requires_grad


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: x.uniform_(2, 1), ValueError, "uniform"),
        (lambda x: x.long().uniform_(), TypeError, "uniform_"),
        (lambda x: x.normal_(0, -1), ValueError, "normal_"),
        (lambda x: x.exponential_(0), ValueError, "exponential_"),
        (lambda x: x.long().exponential_(), TypeError, "exponential_"),
        (lambda x: x.geometric_(0), ValueError, "geometric_"),
        (lambda x: x.geometric_(1.5), ValueError, "geometric_"),
        (lambda x: x.log_normal_(0, 0), ValueError, "log_normal_"),
        (lambda x: x.cauchy_(0, -1), ValueError, "cauchy_"),
        (lambda x: x.random_(3, 3), ValueError, "integers"),
        (lambda x: x.byte().random_(0, 257), ValueError, "uint8"),
        (lambda x: x.bernoulli_(flow.ones(4)), ValueError, "broadcast"),
        (lambda x: x.bernoulli_(1.5), ValueError, "probabilities"),
        (lambda x: flow.bernoulli(x - 1), ValueError, "probabilities"),
        (lambda x: flow.bernoulli(x * math.nan), ValueError, "probabilities"),
        (lambda x: flow.bernoulli(x.long()), TypeError, "bernoulli"),
        (lambda x: flow.poisson(x - 1), ValueError, "poisson"),
        (lambda x: flow.binomial(x, x - 1), ValueError, "binomial"),
        (lambda x: flow.multinomial(x, 1), ValueError, "too few"),
        (lambda x: flow.multinomial(x + 1, 4), ValueError, "without replacement"),
        (lambda x: flow.multinomial(x + 1, 0), ValueError, "num_samples"),
        (lambda x: flow.multinomial(x + 1, -1), ValueError, "num_samples"),
        (lambda x: flow.multinomial(x - 1, 1), ValueError, "below 0"),
        (lambda x: flow.multinomial(x.long(), 1), TypeError, "multinomial"),
        (lambda x: flow.multinomial(flow.ones(1, 2, 3), 1), ValueError, "1 or 2 dims"),
        (lambda x: flow.normal(x, -1.0), ValueError, "std"),
        (lambda x: flow.normal(0.0, 1.0), TypeError, "size"),
        (lambda x: flow.normal(x, 1.0, (3,)), TypeError, "size"),
        (lambda x: flow.normal(flow.ones(2), flow.ones(3)), ValueError, "broadcast"),
        (lambda x: flow.randint(3, 3, (2,)), ValueError, "integers"),
        (lambda x: flow.randint(3), TypeError, "size"),
        (lambda x: flow.randint(0, 300, (2,), dtype=flow.uint8), ValueError, "uint8"),
        (lambda x: flow.randperm(-1), ValueError, "randperm"),
        (lambda x: flow.rand(-1), ValueError, "negative"),
        (lambda x: flow.rand(2, dtype=flow.int64), TypeError, "float"),
    ],
)
def test_what_is_no_distribution_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call(flow.zeros(3))
