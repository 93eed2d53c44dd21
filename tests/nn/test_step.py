"""A batch taken in equal parts gives the loss and the step of the batch taken whole."""

import numpy as np
import pytest

import flow_core as flow
import flow_nn as nn
from flow_nn.functional import token_cross_entropy
from flow_nn.step import Step

CONFIG = nn.GPTConfig(vocab_size=7, block_size=6, num_layers=1, num_heads=2, num_channels=8)


def batch():
    ids = np.random.default_rng(0).integers(0, 7, (12, 7))
    return flow.tensor(ids[:, :-1]), flow.tensor(ids[:, 1:])


def after_steps(num_microbatches, count=3):
    """The losses of some steps in float64, and the parameters after them."""
    flow.manual_seed(0)
    model = nn.GPT(CONFIG).to(flow.float64)
    optimizer = nn.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-4)
    step = Step(model, optimizer, max_norm=0.5, num_microbatches=num_microbatches)
    losses = [step(*batch()) for _ in range(count)]
    step.close()
    return losses, [p.detach().numpy() for p in model.parameters()]


@pytest.mark.parametrize("num_microbatches", [2, 3, 4, 12])
def test_parts_of_a_batch_add_up_to_it(num_microbatches):
    losses, params = after_steps(1)
    found_losses, found = after_steps(num_microbatches)
    np.testing.assert_allclose(found_losses, losses, rtol=1e-12)
    for a, b in zip(found, params, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_a_step_lowers_the_loss_that_it_returns():
    losses, _ = after_steps(1, count=5)
    assert losses == sorted(losses, reverse=True)


def test_the_sum_of_losses_is_that_of_the_targets():
    model = nn.GPT(CONFIG)
    step = Step(model, nn.optim.AdamW(model.parameters()), max_norm=1.0)
    inputs, targets = batch()
    losses = token_cross_entropy(model(inputs), targets, reduction="none").detach().numpy()
    assert step.loss_sum(inputs, targets) == pytest.approx(losses.sum(dtype=np.float64), rel=1e-6)
