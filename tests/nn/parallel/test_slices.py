"""Checkpoints are written by slices and go on at any other mesh; on simulated ranks."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import flow_core as flow
from flow_nn import checkpoint
from flow_nn.parallel import Mesh
from flow_nn.run import piece_of
from flow_sbp import Placement, spmd
from flow_sbp.global_tensor import distribute, set_comm

WRITERS = [Mesh(dp=2, tp=2), Mesh(dp=2, pp=2)]
FUSED = ("attn.c_attn.weight", "attn.c_attn.bias")


def steps(run, count):
    return [run.train_step() for _ in range(count)]


def written(training, held, mesh):
    """(path, what the ranks hold) of a checkpoint after three steps on a mesh."""

    def work(run):
        steps(run, 3)
        return run.save(), held(run.state())

    ranks = training.over(mesh, work, num_microbatches=2)
    assert len({path for path, _ in ranks}) == 1
    return ranks[0][0], [state for _, state in ranks]


def resumed(training, mesh, work, path, **options):
    """[work(run) of each rank] of runs that have taken a checkpoint's state; mesh None: on one rank, without a communicator."""

    def restored(run):
        run.restore(path)
        return work(run)

    return [training.alone(restored, **options)] if mesh is None else training.over(mesh, restored, **options)


@pytest.mark.parametrize("writer", WRITERS, ids=str)
def test_a_run_goes_on_at_another_mesh_with_the_losses_of_a_whole_one(training, held, writer):
    whole = training.alone(lambda run: steps(run, 6))
    path, _ = written(training, held, writer)
    for reader in (None, Mesh(), Mesh(pp=2), Mesh(dp=3), Mesh(tp=3), Mesh(tp=2, pp=2)):
        for losses in resumed(training, reader, lambda run: steps(run, 3), path):
            assert losses == pytest.approx(whole[3:], rel=1e-6)


@pytest.mark.parametrize("writer", WRITERS, ids=str)
def test_the_files_together_hold_each_tensor_once(training, held, joined, writer):
    path, states = written(training, held, writer)
    index = json.loads((path / "checkpoint.json").read_bytes())["tensors"]
    files = {file.name: load_file(file) for file in path.glob("*.safetensors")}
    assert sorted(p.name for p in path.iterdir()) == sorted(["checkpoint.json", *files])
    count = {name: np.zeros(entry["shape"], int) for name, entry in index.items()}
    for name, entry in index.items():
        for file, start in entry["pieces"]:
            piece = files[file].pop(name)
            count[name][tuple(slice(a, a + n) for a, n in zip(start, piece.shape, strict=True))] += 1
    assert all((c == 1).all() for c in count.values())
    assert not any(files.values())  # nothing else stands in them
    first = [f"rank_{rank:04d}.safetensors" for rank in range(writer.size) if rank // writer.tp % writer.dp == 0]
    assert sorted(files) == first  # of the ranks that hold the same, one writes
    state = joined(states)
    arrays, _, step = checkpoint.load(path)
    assert step == 3
    assert {name: a.tobytes() for name, a in arrays.items()} == {name: a.tobytes() for name, a in state.items()}


def test_the_names_and_shapes_in_a_checkpoint_are_those_of_one_rank(training, held):
    alone, _, _ = checkpoint.load(training.alone(lambda run: (steps(run, 1), run.save())[1], out="alone"))
    arrays, _, _ = checkpoint.load(written(training, held, Mesh(dp=2, tp=2, pp=2))[0])
    assert {n: (a.shape, a.dtype) for n, a in arrays.items()} == {n: (a.shape, a.dtype) for n, a in alone.items()}


@pytest.mark.parametrize("mesh", [Mesh(tp=3), Mesh(dp=2, tp=3), Mesh(dp=3, pp=3)], ids=str)
def test_f5_load_full_into_ragged(training, held, joined, mesh):
    path = training.alone(lambda run: (steps(run, 2), run.save())[1], out="alone")
    full, _, _ = checkpoint.load(path)
    state = joined(resumed(training, mesh, lambda run: held(run.state()), path))
    assert {name: a.tobytes() for name, a in state.items()} == {name: a.tobytes() for name, a in full.items()}


def test_f9_fused_gate_up_reshard_keeps_queries_keys_and_values_apart(training):
    paths = [training.alone(lambda run: (steps(run, 2), run.save())[1], out="tp1")]
    for tp in (2, 3, 1, 3, 2):
        options = {"out": f"{len(paths)} tp{tp}"}
        paths.append(resumed(training, Mesh(tp=tp), lambda run: run.save(), paths[-1], **options)[0])
    first, *others = [checkpoint.load(path)[0] for path in paths]
    assert sum(any(part in name for part in FUSED) for name in first) == 4 * 2 * 3
    for arrays in others:
        assert {name: a.tobytes() for name, a in arrays.items()} == {name: a.tobytes() for name, a in first.items()}


def test_f6_resume_dp4_to_2_to_3_meets_the_windows_of_a_whole_run(training):
    whole, path, found = training.alone(lambda run: steps(run, 6)), None, []
    for dp in (4, 2, 3):

        def work(run, path=path):
            if path is not None:
                run.restore(path)
            return steps(run, 2), run.save()

        losses, path = training.over(Mesh(dp=dp), work)[0]
        found += losses
    assert found == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize("mesh", [None, Mesh(dp=2), Mesh(tp=2, pp=2)], ids=str)
def test_a_checkpoint_that_does_not_fit_is_refused_alike_before_anything_changes(
    training, renamed, held, joined, mesh, weights
):
    path = training.alone(lambda run: (steps(run, 1), run.save())[1], out="alone")
    renamed(path)

    def work(run):
        with pytest.raises(ValueError, match=r"is of another model: .*ln_f\.bias") as refused:
            run.restore(path)
        return str(refused.value), held(run.model.state_dict())

    ranks = [training.alone(work)] if mesh is None else training.over(mesh, work)
    assert len({said for said, _ in ranks}) == 1
    state = joined([pieces for _, pieces in ranks])
    assert {name: a.tobytes() for name, a in state.items()} == {name: a.tobytes() for name, a in weights.items()}


def test_a11_ckpt_empty_shard_is_never_written(tmp_path):
    row, mesh = Placement(range(5), "x"), Placement(np.arange(6).reshape(2, 3), ("dp", "tp"))
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)

    def work(comm):
        set_comm(comm)
        tensors = {
            "a dim of 3 over 5": (whole, row, ["S(0)"]),
            "nothing": (np.zeros((0, 4), np.float32), row, ["S(1)"]),
            "one element": (whole[:1, 0], mesh, ["S(0)", "S(0)"]),
            "ragged over two axes": (whole, mesh, ["S(0)", "S(0)"]),
            "ragged along two dims": (whole, mesh, ["S(1)", "S(0)"]),
        }
        pieces = {}
        for name, (value, placement, sbp) in tensors.items():
            if comm.rank in placement:
                piece = piece_of(distribute(flow.from_numpy(value), placement, sbp))
                if piece is not None:
                    assert piece.array.size
                    pieces[name] = piece
        return sorted(pieces), checkpoint.save(tmp_path, 1, pieces, {}, comm=comm)

    ranks = spmd(6, work)
    arrays, _, _ = checkpoint.load(ranks[0][1])
    np.testing.assert_array_equal(arrays["a dim of 3 over 5"], whole)
    np.testing.assert_array_equal(arrays["one element"], whole[:1, 0])
    np.testing.assert_array_equal(arrays["ragged over two axes"], whole)
    np.testing.assert_array_equal(arrays["ragged along two dims"], whole)
    assert ["a dim of 3 over 5" in names for names, _ in ranks] == [True] * 3 + [False] * 3
    assert [sorted(p.stem for p in ranks[0][1].glob("*.safetensors"))] == [[f"rank_{r:04d}" for r in range(6)]]
