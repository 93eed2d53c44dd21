"""AdamW is its paper's, clipping scales all gradients by one factor, and the schedule is a warm-up and half a cosine."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
import flow_nn as nn
from flow_core.testing import examples
from flow_nn.optim import AdamW, clip_grad_norm_, warmup_cosine

seeds = st.integers(0, 2**32 - 1)
SHAPES = [(3, 4), (5,), (), (2, 1, 3)]


def parameters(seed, dtype, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    return [nn.Parameter(flow.tensor(rng.normal(size=shape), dtype=dtype)) for shape in shapes]


def set_grads(params, seed, scale=1.0):
    """Draws a gradient for each parameter; returns them in float64."""
    rng = np.random.default_rng(seed)
    for p in params:
        p.grad = flow.tensor(rng.normal(size=p.shape) * scale, dtype=p.dtype)
    return [p.grad.numpy().astype(np.float64) for p in params]


def reference(params, grads, lr, beta1, beta2, eps, weight_decay):
    """Algorithm 2 of 1711.05101 in float64, as it stands there (the schedule multiplier is lr, as in PyTorch): all steps."""
    theta = [np.array(p, np.float64) for p in params]
    m, v = [np.zeros_like(p) for p in theta], [np.zeros_like(p) for p in theta]
    for t, (rate, step_grads) in enumerate(zip(lr, grads, strict=True), 1):
        for i, g in enumerate(step_grads):
            m[i] = beta1 * m[i] + (1 - beta1) * g
            v[i] = beta2 * v[i] + (1 - beta2) * g * g
            m_hat, v_hat = m[i] / (1 - beta1**t), v[i] / (1 - beta2**t)
            theta[i] = theta[i] - rate * (m_hat / (np.sqrt(v_hat) + eps) + weight_decay * theta[i])
    return theta


@examples(30)
@given(
    seeds,
    st.sampled_from((1e-3, 0.1)),
    st.sampled_from(((0.9, 0.999), (0.9, 0.99), (0.0, 0.0), (0.3, 0.5))),
    st.sampled_from((0.0, 0.1)),
    st.sampled_from((1e-8, 1e-3)),
    st.sampled_from((1e-3, 1.0, 1e3)),
)
@pytest.mark.parametrize(("dtype", "rtol"), [(flow.float32, 3e-5), (flow.float64, 1e-11)])
def test_twelve_steps_of_adamw_are_those_of_its_paper(dtype, rtol, seed, lr, betas, weight_decay, eps, scale):
    params = parameters(seed, dtype)
    start = [p.detach().numpy().copy() for p in params]
    optimizer = AdamW(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
    rates, grads = [lr * (1 + step % 3) for step in range(12)], []
    for step, rate in enumerate(rates):
        optimizer.param_groups[0]["lr"] = rate
        grads.append(set_grads(params, [seed, step], scale))
        optimizer.step()
    expected = reference(start, grads, rates, *betas, eps, weight_decay)
    for p, e in zip(params, expected, strict=True):
        assert p.dtype == dtype
        # A step moves by lr at most by its nature, so errors scale with the parameter and the way it went.
        np.testing.assert_allclose(p.detach().numpy(), e, rtol=rtol, atol=rtol * (1 + sum(rates)))


def test_groups_have_settings_of_their_own():
    a, b = parameters(0, flow.float64, [(3,), (3,)])
    before = [p.detach().numpy().copy() for p in (a, b)]
    optimizer = AdamW([{"params": [a], "weight_decay": 0.5}, {"params": iter([b]), "lr": 0.0}], lr=0.1, eps=1e-3)
    grads = set_grads([a, b], 1)
    optimizer.step()
    expected = reference(before[:1], [grads[:1]], [0.1], 0.9, 0.999, 1e-3, 0.5)
    np.testing.assert_allclose(a.detach().numpy(), expected[0], rtol=1e-12)
    np.testing.assert_array_equal(b.detach().numpy(), before[1])


def test_parameters_without_a_gradient_stay():
    a, b = parameters(0, flow.float32, [(3,), (3,)])
    before = [p.detach().numpy().copy() for p in (a, b)]
    optimizer = AdamW([a, b], lr=0.1)
    set_grads([a], 1)
    optimizer.step()
    assert not np.array_equal(a.detach().numpy(), before[0])
    np.testing.assert_array_equal(b.detach().numpy(), before[1])
    optimizer.zero_grad()
    assert a.grad is None


def test_a_step_leaves_no_trace_in_the_graph():
    (p,) = parameters(0, flow.float32, [(3,)])
    optimizer = AdamW([p])
    (p * p).sum().backward()
    optimizer.step()
    assert p.is_leaf
    assert p.requires_grad
    assert not any(t.requires_grad for t in optimizer.state_of(p).values())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lr": -1.0}, "AdamW: lr is -1.0, expected 0 or more"),
        ({"lr": math.nan}, "AdamW: lr is nan"),
        ({"eps": -1e-8}, "AdamW: eps is -1e-08"),
        ({"weight_decay": -0.1}, "AdamW: weight_decay is -0.1"),
        ({"betas": (0.9, 1.0)}, r"AdamW: betas are \(0.9, 1.0\), expected two numbers from 0 to below 1"),
        ({"betas": (-0.1, 0.9)}, "AdamW: betas are"),
        ({"betas": (0.9,)}, r"AdamW: betas are \(0.9,\)"),
    ],
)
def test_settings_out_of_range_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        AdamW(parameters(0, flow.float32), **settings)
    with pytest.raises(ValueError, match=said):
        AdamW([{"params": parameters(0, flow.float32), **settings}])


def test_what_is_no_list_of_parameters_is_refused():
    p = nn.Parameter(flow.ones(2))
    with pytest.raises(ValueError, match="AdamW: no parameters given"):
        AdamW([])
    with pytest.raises(ValueError, match="AdamW: a parameter stands in the groups twice"):
        AdamW([{"params": [p]}, {"params": [p]}])
    with pytest.raises(TypeError, match=r"AdamW: params is one tensor, f32\[2\]: give a list"):
        AdamW(p)
    for wrong in (p * 1, 3.0, "weight"):
        with pytest.raises(TypeError, match=r"AdamW: .* is not a parameter, or other leaf tensor"):
            AdamW([wrong])
    with pytest.raises(ValueError, match="AdamW: momentum is not a setting: expected lr, betas, eps, weight_decay"):
        AdamW([{"params": [p], "momentum": 0.9}])


@examples(40)
@given(seeds, st.sampled_from((0.1, 1.0, 1e6)), st.sampled_from((1e-3, 1.0, 100.0)))
def test_clipping_scales_all_gradients_by_one_factor(seed, max_norm, scale):
    params = parameters(seed, flow.float64)
    grads = set_grads(params, seed, scale)
    expected = math.sqrt(sum((g * g).sum() for g in grads))
    norm = clip_grad_norm_(iter(params), max_norm)
    assert norm.shape == ()
    assert norm.item() == pytest.approx(expected, rel=1e-12)
    factor = min(1.0, max_norm / (expected + 1e-6))
    for p, g in zip(params, grads, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g * factor, rtol=1e-12)


def test_clipping_passes_over_what_has_no_gradient():
    assert clip_grad_norm_(parameters(0, flow.float32), 1.0).item() == 0.0
    p, q = parameters(0, flow.float32, [(2,), (2,)])
    p.grad = flow.tensor([3.0, 4.0])
    assert clip_grad_norm_([p, q], 10.0).item() == 5.0
    np.testing.assert_array_equal(p.grad.numpy(), [3.0, 4.0])
    assert q.grad is None


def test_clipping_lets_no_infinity_pass_as_a_number():
    (p,) = parameters(0, flow.float32, [(2,)])
    p.grad = flow.tensor([math.nan, 1.0])
    assert math.isnan(clip_grad_norm_([p], 1.0).item())
    assert np.isnan(p.grad.numpy()).all()


def test_gradients_of_a_sum_are_clipped_once_each():
    p, q = parameters(0, flow.float64, [(2,), (2,)])
    (p + q).sum().backward()
    clip_grad_norm_([p, q], 1.0)
    for x in (p, q):
        np.testing.assert_allclose(x.grad.numpy(), 0.5, rtol=1e-5)


def test_the_schedule_rises_falls_and_stays():
    def rate(step):
        return warmup_cosine(step, peak=1e-3, floor=1e-4, num_warmup=100, num_steps=2000)

    assert rate(0) == pytest.approx(1e-3 / 101)
    assert rate(99) == pytest.approx(1e-3 * 100 / 101)
    assert rate(100) == 1e-3
    assert rate(1050) == pytest.approx(5.5e-4)
    assert rate(100 + 1900 // 4) == pytest.approx(1e-4 + 9e-4 * (0.5 + math.sqrt(0.5) / 2))
    assert rate(2000) == rate(10**6) == 1e-4
    rates = [rate(step) for step in range(2001)]
    assert all(a < b for a, b in pairwise(rates[:101]))
    assert all(a > b for a, b in pairwise(rates[100:]))


def test_a_schedule_without_warmup_starts_at_its_peak():
    assert warmup_cosine(0, peak=1.0, floor=0.0, num_warmup=0, num_steps=10) == 1.0
    assert warmup_cosine(10, peak=1.0, floor=0.0, num_warmup=10, num_steps=10) == 0.0
