"""Gradients and parameters of a mesh of ranks are those of one rank, in float64, where rounding hides nothing.

Tolerances: an element of a gradient is a sum along paths of at most a few hundred roundings (4 layers of sums over 12 channels, 48
hidden ones and 8 tokens, then over 32 tokens of the batch), of terms no larger than the largest gradient is by some factor, so two
orders of summation differ by less than DELTA = 1000 * 2^-53 of the largest. A step of AdamW moves a parameter by
lr * m / (sqrt(v) + eps), which changes by at most 2 lr / eps times as much as the gradient does.
"""

import numpy as np
import pytest

import flow_core as flow
from flow_nn.models.gpt import GPT
from flow_nn.optim import AdamW
from flow_nn.parallel import Mesh, parallelize
from flow_nn.sharded_step import ShardedStep
from flow_nn.step import Step
from flow_sbp import spmd
from flow_sbp.global_tensor import set_comm

DELTA = 1000 * 2.0**-53
LR, EPS, STEPS = 1e-3, 1e-4, 4
MESHES = [((2, 1, 1), 2), ((1, 3, 1), 1), ((1, 1, 3), 2), ((3, 2, 1), 2), ((2, 2, 2), 2), ((6, 1, 1), 1)]
IDS = ["x".join(map(str, mesh)) for mesh, _ in MESHES]


def batch():
    ids = np.random.default_rng(0).integers(0, 11, (4, 9))
    return flow.tensor(ids[:, :-1]), flow.tensor(ids[:, 1:])


@pytest.fixture
def stepped(weights, training, held, joined):
    """stepped(mesh, num_microbatches, max_norm=, steps=): gradients and parameters after the steps, whole arrays by name."""

    def run(mesh=None, num_microbatches=1, *, max_norm, steps=1):
        def rank(comm=None):
            model = GPT(training.config)
            model.load_state_dict(weights)
            model.to(flow.float64)
            if comm is not None:
                set_comm(comm)
                parallelize(model, mesh)
            options = {"max_norm": max_norm, "num_microbatches": num_microbatches}
            optimizer = AdamW(model.parameters(), lr=LR, eps=EPS)
            step = Step(model, optimizer, **options)
            if comm is not None:
                step = ShardedStep(model, optimizer, mesh, comm, **options)
            for _ in range(steps):
                step(*batch())
            step.close()
            named = dict(model.named_parameters())
            return held({n: p.grad for n, p in named.items() if p.grad is not None}), held(
                {n: p.detach() for n, p in named.items()}
            )

        ranks = [rank()] if mesh is None else spmd(mesh.size, rank, timeout=60)
        return joined([grads for grads, _ in ranks]), joined([params for _, params in ranks])

    return run


def assert_close(actual, expected, bound):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].dtype == np.float64
        np.testing.assert_allclose(actual[name], value, rtol=0, atol=bound, err_msg=name)


def largest(arrays):
    return max(np.abs(a).max() for a in arrays.values())


def norm(arrays):
    return np.sqrt(sum((a**2).sum() for a in arrays.values()))


@pytest.mark.parametrize(("mesh", "num_microbatches"), MESHES, ids=IDS)
def test_parameters_after_some_steps_are_those_of_one_rank(stepped, mesh, num_microbatches):
    grads, expected = stepped(max_norm=1.0, steps=STEPS)
    _, actual = stepped(Mesh(*mesh), num_microbatches, max_norm=1.0, steps=STEPS)
    assert_close(actual, expected, STEPS * 2 * LR / EPS * DELTA * max(largest(grads), 1))


@pytest.mark.parametrize(("mesh", "num_microbatches"), MESHES, ids=IDS)
def test_f1_clip_union_each_parameter_counts_once_in_the_norm(stepped, mesh, num_microbatches):
    plain, _ = stepped(max_norm=1e9)
    small = norm(plain) / 1000
    expected, _ = stepped(max_norm=small)
    actual, _ = stepped(Mesh(*mesh), num_microbatches, max_norm=small)
    assert_close(actual, expected, DELTA * largest(expected))
    assert norm(actual) == pytest.approx(small, rel=2e-6 / norm(plain))  # the factor is small / (norm + 1e-6)


def test_g5_pp_equals_dp(stepped):
    expected, _ = stepped(max_norm=1e9)
    for mesh in (Mesh(dp=2), Mesh(pp=2), Mesh(dp=2, pp=2), Mesh(dp=3)):
        for num_microbatches in (1, 2, 4):
            actual, _ = stepped(mesh, num_microbatches, max_norm=1e9)
            assert_close(actual, expected, DELTA * largest(expected))


def test_g2_tied_pp_the_token_table_has_the_gradients_of_both_its_uses(stepped):
    name = "transformer.wte.weight"
    (expected, _), (actual, _) = stepped(max_norm=1e9), stepped(Mesh(pp=2), 2, max_norm=1e9)
    np.testing.assert_allclose(actual[name], expected[name], rtol=0, atol=DELTA * largest(expected))


@pytest.mark.parametrize("mesh", [Mesh(pp=2), Mesh(dp=2, tp=2, pp=2), Mesh(pp=4)], ids=str)
def test_f11_tied_drift_10_steps(training, mesh):
    def work(run):
        for _ in range(10):
            run.train_step()
        copies = (run.model.transformer.wte.weight, run.model.tied)
        return [None if t.shard is None else t.shard.numpy().tobytes() for t in copies]

    ranks = training.over(mesh, work, num_microbatches=2)
    size = mesh.dp * mesh.tp
    assert all(table is not None for table, _ in ranks[:size])
    assert {table for table, _ in ranks[:size]} == {tied for _, tied in ranks[-size:]}
    assert len({table for table, _ in ranks[:size]}) == 1
