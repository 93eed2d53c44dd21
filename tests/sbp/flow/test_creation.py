"""Global tensors are made of the value, of parts, or of nothing, and give the value back; what does not fit fails alike on every rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flow_core as flow
import flow_sbp.global_tensor as sbp
from flow_sbp import Counting, Layout, Placement, assemble, spmd
from flow_sbp.global_tensor import absent, distribute, from_shards, set_comm
from flow_sbp.testing import layouts

X = Placement(range(4), "x")
MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))
VALUE = np.arange(35.0).reshape(7, 5)


def on_ranks(fn, num_ranks=4):
    """[fn(comm) of each rank], with the communicator set."""

    def run(comm):
        set_comm(comm)
        return fn(comm)

    return spmd(num_ranks, run)


def errors_of(fn, num_ranks=4):
    """(kind, text) of the error that each rank raises, and the bytes of data that it sent before."""

    def run(comm):
        comm = Counting(comm)
        set_comm(comm)
        try:
            fn(comm)
        except (TypeError, ValueError) as error:
            return type(error), str(error), comm.bytes_sent
        return None, "no error", comm.bytes_sent

    return spmd(num_ranks, run)


@settings(max_examples=40)
@given(layouts((7, 5), "f64", MESH, kinds=("sum", "max")), layouts((7, 5), "f64", MESH, kinds=("sum", "min")))
def test_any_layout_becomes_any_other_and_gives_the_value_back(src, dst):
    def run(comm):
        x = distribute(VALUE, MESH, src.sbp)
        y = x.to_global(layout=src).to_global(layout=dst)
        assert y.layout == dst
        assert (y.shape, y.dtype, y.ndim, y.numel(), len(y)) == ((7, 5), flow.float64, 2, 35, 7)
        assert y.to_local().shape == dst.local_shape(comm.rank)
        assert np.asarray(y, "f4").dtype == np.float32
        return y.to_local().numpy(), y.full().numpy(), np.asarray(y)

    results = on_ranks(run)
    np.testing.assert_array_equal(assemble([piece for piece, _, _ in results], dst), VALUE)
    for _, full, array in results:
        np.testing.assert_array_equal(full, VALUE)
        np.testing.assert_array_equal(array, VALUE)


def test_distribute_sends_nothing_and_takes_tensors_arrays_and_lists():
    def run(comm):
        comm = Counting(comm)
        for value in (flow.tensor(VALUE), VALUE, VALUE.tolist()):
            for one in ("S(0), S(1)", "P, B", "S(0), S(0)"):
                distribute(value, MESH, one, comm=comm)
        return comm.bytes_sent

    assert on_ranks(run) == [0] * 4


@settings(max_examples=30)
@given(st.data())
def test_parts_of_any_sizes_make_up_the_whole(data):
    layout = data.draw(layouts((7, 5), "f32", data.draw(st.sampled_from([X, MESH])), kinds=()))
    value = VALUE.astype("f4")

    def run(comm):
        piece = np.ascontiguousarray(value[layout.local_slices(comm.rank)])
        x = from_shards(flow.from_numpy(piece), layout.placement, layout.sbp)
        same_axes = layout.splits == x.layout.splits
        assert not same_axes or x.layout == layout
        return x.full().numpy() if same_axes else value

    if all(len(axes) < 2 or axes == layout.placement.axes for axes in layout.splits):
        for got in on_ranks(run):
            np.testing.assert_array_equal(got, value)


def test_parts_that_are_partial_add_up():
    results = on_ranks(lambda comm: from_shards(flow.full(shape=(2,), fill_value=comm.rank), X, "P").full().numpy())
    np.testing.assert_array_equal(results, np.full((4, 2), 6))


def test_an_array_is_lifted_as_a_tensor_is():
    results = on_ranks(lambda comm: from_shards(np.full(comm.rank, 2.0), X, "S(0)").full().numpy())
    np.testing.assert_array_equal(results, np.full((4, 6), 2.0))


@pytest.mark.parametrize(
    ("piece", "one", "options", "says"),
    [
        (lambda rank: flow.zeros(3, 5 if rank != 2 else 4), "S(0)", {}, r"rank 2 gives shape \(3, 4\), .*it must be \(3, 5\)"),
        (lambda rank: flow.zeros(3) if rank != 1 else flow.zeros(3, 1), "S(0)", {}, r"rank 1 gives float32 of shape \(3, 1\)"),
        (lambda rank: flow.zeros(3, dtype=flow.int64 if rank == 3 else flow.float32), "S(0)", {}, "rank 3 gives int64"),
        (lambda rank: flow.zeros(rank), "B", {}, r"rank 1 gives shape \(1,\), .*it must be \(0,\)"),
        (lambda rank: flow.zeros(3), "S(0)", {"shape": (13,)}, r"make up shape \(12,\), not \(13,\)"),
        (lambda rank: flow.zeros(3), "S(1)", {}, r"S\(1\) of a tensor with 1 dims"),
        (lambda rank: flow.zeros(3), "S(0), B", {}, "one sbp per mesh axis"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_the_same_error_on_every_rank(piece, one, options, says):
    errors = errors_of(lambda comm: from_shards(piece(comm.rank), X, one, **options))
    assert len(set(errors)) == 1
    assert errors[0][0] is ValueError
    assert errors[0][2] == 0
    with pytest.raises(ValueError, match=says):
        raise ValueError(errors[0][1])


def test_a_part_from_a_rank_outside_is_refused_there():
    errors = errors_of(lambda comm: from_shards(flow.zeros(2), Placement([0, 1], "x"), "S(0)"), 3)
    assert errors[2][1] == "from_shards: rank 2 is not in Placement([0, 1], ('x',)); only its ranks call this"


def test_a_part_that_requires_grad_is_refused():
    errors = errors_of(lambda comm: from_shards(flow.tensor([1.0], requires_grad=comm.rank == 2), X, "S(0)"))
    assert {text for _, text, _ in errors} == {
        "from_shards: the part of rank 2 requires grad, which would not flow back through a global tensor: call x.detach() first"
    }
    errors = errors_of(lambda comm: distribute(flow.tensor([1.0], requires_grad=True), X, "S(0)"))
    assert "distribute: the value requires grad" in errors[0][1]


@pytest.mark.parametrize("one", ["B, B", "S(0), B", "S(1), S(0)", "S(0), S(0)"])
@pytest.mark.parametrize("dtype", [flow.float32, flow.int64, flow.bool, flow.bfloat16])
def test_a_tensor_made_of_nothing_has_the_layout_and_type_that_were_asked_for(one, dtype):
    def run(comm):
        made = [sbp.zeros((7, 5), MESH, one, dtype=dtype), sbp.ones((7, 5), MESH, one, dtype=dtype)]
        made.append(sbp.full((7, 5), 3 if dtype is not flow.bool else True, MESH, one, dtype=dtype))
        assert all(x.layout == Layout((7, 5), str(dtype), MESH, one) and x.dtype is dtype for x in made)
        assert all(x.shard.shape == x.layout.local_shape(comm.rank) for x in made)
        return [x.full().numpy().astype("f8") for x in made]

    for zeros, ones, threes in on_ranks(run):
        np.testing.assert_array_equal([zeros, ones], [np.zeros((7, 5)), np.ones((7, 5))])
        np.testing.assert_array_equal(threes, np.full((7, 5), 1 if dtype is flow.bool else 3))


def test_a_new_partial_tensor_is_refused():
    with pytest.raises(ValueError, match=r"cannot be partial .*make it B or S"):
        on_ranks(lambda comm: sbp.zeros((3,), X, "P"))


def test_without_a_communicator_the_call_to_make_is_named():
    with pytest.raises(ValueError, match=r"there is no communicator: call .*set_comm"):
        spmd(2, lambda comm: distribute(VALUE, Placement([0, 1], "x"), "B"))


@pytest.mark.parametrize("one", ["B", "P"])
def test_numbers_come_out_of_one_element_alone(one):
    def run(comm):
        x = distribute(np.array([2.5]), X, one)
        assert (x.item(), float(x), int(x), bool(x), bool(x * 0)) == (2.5, 2.5, 2, True, False)
        for call in (x.reshape(()).__len__, distribute(VALUE, X, one).item, distribute(VALUE, X, one).__bool__):
            with pytest.raises((TypeError, ValueError), match=r"0-d|exactly one element"):
                call()

    on_ranks(run)


def test_what_would_lose_a_gradient_or_fits_none_is_refused():
    def run(comm):
        x = distribute(VALUE, X, "S(0)").requires_grad_()
        for call in (x.numpy, x.to_local):
            with pytest.raises(ValueError, match="would lose its gradient"):
                call()
        with pytest.raises(TypeError, match="cannot require grad"):
            distribute(np.arange(3), X, "B").requires_grad_()
        y = x * 2
        with pytest.raises(ValueError, match="leaves only"):
            y.requires_grad_(False)

        for plain in (lambda: setattr(x, "grad", flow.tensor(VALUE)), lambda: y.backward(flow.tensor(VALUE))):
            with pytest.raises(
                TypeError, match=r"grad of f64\[7@x, 5\] is set to a Tensor: it must be a global tensor"
            ):
                plain()
        with pytest.raises(ValueError, match="shape and dtype must be the tensor's"):
            x.grad = distribute(VALUE[0], X, "B")

    on_ranks(run)


def test_a_handle_of_an_absent_tensor_is_for_ranks_outside_alone():
    layout = Layout((3,), "bf16", Placement([0, 1], "x"), "S(0)")

    def run(comm):
        if comm.rank == 2:
            x = absent(layout)
            assert (x.shape, x.dtype, x.shard) == ((3,), flow.bfloat16, None)
            assert "rank 2 holds nothing" in repr(x)
            assert x.full() is None
            for call in (x.item, x.numpy) if x.numel() == 1 else (x.numpy,):
                with pytest.raises(ValueError, match=r"rank 2 is not in .*to_global\(placement"):
                    call()
        else:
            with pytest.raises(ValueError, match=r"is in .* and must give its shard"):
                absent(layout)
            assert from_shards(flow.zeros(2 - comm.rank).bfloat16(), layout.placement, "S(0)").layout == layout

    spmd(3, lambda comm: (set_comm(comm), run(comm)))
