"""The losses of a run do not depend on how many ranks share it, and how; on simulated ranks."""

import pytest

from flow_nn.parallel import Mesh

# (dp, tp, pp) and microbatches, for batches of 4 windows, 4 layers, 4 heads, 12 channels and 48 hidden ones.
EVEN = [
    ((1, 1, 1), 2),
    ((2, 1, 1), 1),
    ((2, 1, 1), 2),
    ((1, 2, 1), 1),
    ((1, 4, 1), 1),
    ((1, 1, 2), 1),
    ((1, 1, 2), 4),
    ((1, 1, 4), 2),
    ((2, 2, 1), 2),
    ((2, 1, 2), 2),
    ((1, 2, 2), 2),
    ((2, 2, 2), 2),
]
UNEVEN = [
    ((3, 1, 1), 1),  # 4 windows as 2, 1, 1
    ((1, 3, 1), 1),  # 4 heads as 2, 1, 1
    ((1, 1, 3), 2),  # 4 layers as 2, 1, 1
    ((2, 3, 1), 2),
    ((3, 1, 2), 1),
    ((1, 3, 3), 4),
]
EMPTY = [((3, 1, 1), 2), ((2, 1, 2), 4), ((6, 1, 1), 1), ((3, 2, 1), 4)]  # ranks without a window


def name_of(value):
    return "x".join(map(str, value)) if isinstance(value, tuple) else f"{value} microbatches"


def four_steps(run):
    return [run.train_step() for _ in range(4)] + [run.validate()]


@pytest.mark.parametrize(("mesh", "num_microbatches"), [*EVEN, *UNEVEN, *EMPTY], ids=name_of)
def test_every_rank_returns_the_losses_of_one_rank(training, mesh, num_microbatches):
    ranks = training.over(Mesh(*mesh), four_steps, num_microbatches=num_microbatches)
    assert all(losses == ranks[0] for losses in ranks)  # the same bits
    assert ranks[0] == pytest.approx(training.alone(four_steps), rel=1e-6)


@pytest.mark.parametrize(("mesh", "num_microbatches"), [((2, 2, 2), 2), ((3, 2, 1), 4), ((1, 3, 3), 4)], ids=name_of)
def test_the_same_run_twice_gives_the_same_bits(training, held, joined, mesh, num_microbatches):
    def work(run):
        return four_steps(run), held(run.state())

    first, second = (training.over(Mesh(*mesh), work, num_microbatches=num_microbatches) for _ in range(2))
    assert [losses for losses, _ in first] == [losses for losses, _ in second]
    states = [joined([state for _, state in ranks]) for ranks in (first, second)]
    assert {name: a.tobytes() for name, a in states[0].items()} == {name: a.tobytes() for name, a in states[1].items()}


@pytest.mark.parametrize(
    ("mesh", "batch_size", "num_microbatches", "said"),
    [
        (Mesh(pp=5), 4, 1, "--pp 5 stages need a layer each at least, the model has --layers 4"),
        (Mesh(tp=5), 4, 1, "--tp 5 ranks need a head each at least, the model has --heads 4"),
        (Mesh(), 8, 3, "--microbatches 3 do not divide --batch-size 8"),  # G10, uneven_microbatch
        (Mesh(dp=2, pp=2), 4, 8, "--microbatches 8 do not divide --batch-size 4"),
    ],
    ids=["pp", "tp", "G10 uneven_microbatch", "more microbatches than windows"],
)
def test_what_a_mesh_cannot_take_is_refused(training, mesh, batch_size, num_microbatches, said):
    with pytest.raises(ValueError, match=said):
        mesh.check(training.config, batch_size, num_microbatches)


def test_a_run_that_its_mesh_cannot_take_is_not_made(training):
    with pytest.raises(ValueError, match="--microbatches 3 do not divide --batch-size 4"):
        training.make(num_microbatches=3)
    with pytest.raises(ValueError, match="is of 2 ranks, there are 1: give a communicator of as many"):
        training.make(Mesh(dp=2))


def test_a_batch_that_does_not_divide_is_refused_on_every_rank(training):
    def work(run):
        run.take_step.num_microbatches = 3
        with pytest.raises(ValueError, match="a batch of 4 does not divide into 3 microbatches"):
            run.train_step()
        return True

    assert training.over(Mesh(dp=2), work) == [True, True]
    assert training.alone(work)
