"""Global tensors over MPI, on 2, 3 and 4 ranks: values and gradients are those of the whole, bytes those of the plans."""

import numpy as np
import pytest

flow = pytest.importorskip("flow_core", reason="global tensors need flow-sbp[flow]")
pytest.importorskip("flow_autograd", reason="global tensors need flow-sbp[flow]")

from flow_sbp import Counting, Layout, Placement  # noqa: E402
from flow_sbp.global_tensor import distribute, explicit, from_shards, randn, set_comm, trace  # noqa: E402
from flow_sbp.mpi import MpiComm  # noqa: E402

COMM = MpiComm()
SIZE = COMM.size
X = Placement(range(SIZE), "x")
MESHES = [X, Placement([[2, 0], [1, 3]], ("dp", "tp"))] if SIZE == 4 else [X]
SBPS = "B", "S(0)", "S(1)", "P"
rng = np.random.default_rng(0)
LEFT, RIGHT, BIAS, WEIGHT = (
    rng.normal(size=(7, 5)),
    rng.normal(size=(5, 6)),
    rng.normal(size=6),
    rng.normal(size=(6, 5)),
)
SCALE, SHIFT, SEED = rng.normal(size=5), rng.normal(size=5), rng.normal(size=(7, 6))


@pytest.fixture(autouse=True)
def comm():
    """This rank's communicator, which counts, set for the test."""
    counting = Counting(COMM)
    set_comm(counting)
    return counting


def layouts(mesh, ndim):
    """Some sbp for each axis of the mesh: each of one axis, or each beside another."""
    few = [one for one in SBPS if one != "S(1)" or ndim > 1]
    return (
        [[one] for one in few]
        if len(mesh.axes) == 1
        else [[a, b] for a, b in zip(few, [*few[1:], few[0]], strict=True)]
    )


def check(comm, function, arrays, seed, mesh, sbps):
    """The function's value and gradients on the mesh equal those of the whole, and what is sent is what the plans say."""
    local = [flow.tensor(a, requires_grad=True) for a in arrays]
    expected = function(*local)
    expected.backward(flow.tensor(seed))
    args = [distribute(a, mesh, one).requires_grad_() for a, one in zip(arrays, sbps, strict=True)]
    before = comm.bytes_sent
    with trace() as log:
        out = function(*args)
        out.backward(distribute(seed, mesh, ["B"] * len(mesh.axes)))
    sent = COMM.mpi.allreduce(comm.bytes_sent - before)
    assert sent == sum(plan.bytes_on_wire for _, _, plan in log)
    np.testing.assert_allclose(out.detach().full().numpy(), expected.detach().numpy(), 1e-9, 1e-9)
    for a, t in zip(args, local, strict=True):
        np.testing.assert_allclose(a.grad.full().numpy(), t.grad.numpy(), 1e-9, 1e-9)


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_matmul_and_its_gradients_are_those_of_the_whole(comm, mesh):
    for left in layouts(mesh, 2):
        for right in layouts(mesh, 2):
            check(comm, flow.matmul, (LEFT, RIGHT), SEED, mesh, (left, right))


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_linear_and_its_gradients_are_those_of_the_whole(comm, mesh):
    for x in layouts(mesh, 2):
        for weight in layouts(mesh, 2):
            for bias in layouts(mesh, 1)[:2]:
                check(comm, flow.linear, (LEFT, WEIGHT, BIAS), SEED, mesh, (x, weight, bias))


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_layer_norm_and_its_gradients_are_those_of_the_whole(comm, mesh):
    def first(*args):
        return flow.layer_norm(*args)[0]

    for x in layouts(mesh, 2):
        for weight in layouts(mesh, 1):
            check(comm, first, (LEFT, SCALE, SHIFT), SEED[:, :5], mesh, (x, weight, ["B"] * len(mesh.axes)))


def test_an_mlp_moves_once_forward_and_once_back(comm):
    def mlp(x, up, down):
        return flow.linear(flow.gelu(flow.linear(x, up)), down)

    args = LEFT, WEIGHT, RIGHT
    with explicit():
        x, up, down = (distribute(a, X, one) for a, one in zip(args, ("B", "S(0)", "S(1)"), strict=True))
        out = mlp(x, up.requires_grad_(), down.requires_grad_())
        assert comm.bytes_sent == 0
        assert str(out.layout) == "f64[7, 5] P(sum)@x"
        out.to_global(sbp="B").backward(distribute(SEED[:, :5], X, "P"))
    assert [str(t.grad.layout.sbp[0]) for t in (up, down)] == ["S(0)", "S(1)"]
    check(comm, mlp, args, SEED[:, :5], X, (["B"], ["S(0)"], ["S(1)"]))


def test_e1_rng_invariant():
    expected = flow.randn(7, 5, generator=flow.Generator(3)).numpy()
    for one in ("B", "S(0)", "S(1)"):
        np.testing.assert_array_equal(randn((7, 5), X, one, generator=flow.Generator(3)).full().numpy(), expected)


def test_a2_from_shards_shape():
    x = from_shards(flow.full(shape=(COMM.rank, 2), fill_value=COMM.rank), X, "S(0)")
    assert x.layout == Layout((SIZE * (SIZE - 1) // 2, 2), "i64", X, "S(0)", sizes={0: tuple(range(SIZE))})
    np.testing.assert_array_equal(x.full().numpy()[:, 0], np.repeat(np.arange(SIZE), np.arange(SIZE)))


def test_parts_that_do_not_fit_are_the_same_error_on_every_rank(comm):
    with pytest.raises(
        ValueError, match=r"rank 1 gives shape \(2, 3\), beside the others' it must be \(2, 4\)"
    ) as caught:
        from_shards(flow.zeros(2, 3 if COMM.rank == 1 else 4), X, "S(0)")
    assert len(set(COMM.mpi.allgather(str(caught.value)))) == 1
    assert comm.bytes_sent == 0


def test_a_tensor_of_one_rank_moves_to_the_others_and_its_gradient_back():
    last, others = Placement([SIZE - 1], "x"), Placement(range(SIZE - 1), "x")
    x = distribute(LEFT, last, "B").requires_grad_()
    y = x.to_global(placement=others, sbp="S(0)")
    assert (y.shard is None) == (COMM.rank == SIZE - 1)
    (y * y).sum().backward()
    assert (x.grad.shard is None) == (COMM.rank != SIZE - 1)
    if COMM.rank == SIZE - 1:
        np.testing.assert_allclose(x.grad.full().numpy(), 2 * LEFT)
