"""Placements: meshes of distinct ranks with named axes."""

import numpy as np
import pytest
from hypothesis import given

from flow_sbp import Placement
from flow_sbp.testing import placements

MESH = Placement([[4, 1, 2], [3, 0, 7]], ("dp", "tp"))


def test_a_placement_prints_as_the_call_that_makes_it():
    assert repr(MESH) == "Placement([[4, 1, 2], [3, 0, 7]], ('dp', 'tp'))"
    assert eval(repr(MESH)) == MESH
    assert hash(Placement(np.array([[4, 1, 2], [3, 0, 7]]), ["dp", "tp"])) == hash(MESH)


def test_ranks_have_coordinates_and_groups():
    assert MESH.ranks == (4, 1, 2, 3, 0, 7)
    assert MESH.coordinates(0) == (1, 1)
    assert MESH.groups("tp") == ((4, 1, 2), (3, 0, 7))
    assert MESH.groups("dp") == ((4, 3), (1, 0), (2, 7))
    assert MESH.groups("tp", "dp") == ((4, 3, 1, 0, 2, 7),)
    assert 7 in MESH
    assert 5 not in MESH


def test_axes_are_sliced_and_flattened():
    assert MESH.at(dp=1) == Placement([3, 0, 7], "tp")
    assert MESH.at(dp=1, tp=2) == Placement(7, ())
    assert MESH.flatten(("dp", "tp"), "x") == Placement([4, 1, 2, 3, 0, 7], "x")
    assert MESH.flatten(("tp", "dp"), "x") == Placement([4, 3, 1, 0, 2, 7], "x")


@given(placements())
def test_groups_along_an_axis_partition_the_ranks(placement):
    for i, axis in enumerate(placement.axes):
        groups = placement.groups(axis)
        assert sorted(rank for group in groups for rank in group) == sorted(placement.ranks)
        for group in groups:
            assert [placement.coordinates(rank)[i] for rank in group] == list(range(placement.shape[i]))


@pytest.mark.parametrize(
    ("ranks", "axes", "error", "says"),
    [
        ([0, 1, 1], ("a",), ValueError, "more than once"),
        ([0, -1], ("a",), ValueError, "count from 0"),
        ([[0, 1], [2]], ("a", "b"), ValueError, "rectangular"),
        ([0, 1], ("a", "b"), ValueError, "need 1 axis names, got 2"),
        ([[0, 1]], ("a", "a"), ValueError, "differ"),
        ([0, 1], ("a b",), ValueError, "word"),
        ([0.5], ("a",), TypeError, "integers"),
        ([], ("a",), ValueError, "at least one"),
    ],
)
def test_what_is_no_mesh_is_refused(ranks, axes, error, says):
    with pytest.raises(error, match=says):
        Placement(ranks, axes)


def test_a_stranger_is_named():
    with pytest.raises(ValueError, match="rank 5 is not in"):
        MESH.coordinates(5)
    with pytest.raises(ValueError, match="its axes are dp, tp"):
        MESH.groups("pp")
