"""Hypothesis strategies for placements, sbp, layouts and pairs of layouts. Needs hypothesis."""

import math

import numpy as np
from hypothesis import strategies as st

from flow_sbp.layout import Layout
from flow_sbp.placement import Placement
from flow_sbp.sbp import KINDS, Broadcast, Partial, Split

AXES = ("dp", "tp", "pp", "ep")


@st.composite
def placements(draw, max_axes=4, max_ranks=8, num_world=None):
    """Meshes of 1 to max_axes axes and up to max_ranks ranks, in any order, out of num_world (default: as many)."""
    shape = []
    for _ in range(draw(st.integers(1, max_axes))):
        shape.append(draw(st.integers(1, max(1, max_ranks // math.prod(shape)))))
    size = math.prod(shape)
    ranks = draw(st.permutations(range(max(size, num_world or size))))
    return Placement(np.array(ranks[:size]).reshape(shape), draw(st.permutations(AXES))[: len(shape)])


def shapes(max_dims=3, max_side=7):
    """Shapes with sides from 0; scalars too."""
    return st.lists(st.integers(0, max_side), max_size=max_dims).map(tuple)


def sbps(ndim, kinds=KINDS):
    """Any sbp of a tensor with ndim dims; kinds: the partial kinds that may come."""
    choices = [st.just(Broadcast()), *(st.just(Partial(kind)) for kind in kinds)]
    if ndim:
        choices.append(st.integers(0, ndim - 1).map(Split))
    return st.one_of(choices)


@st.composite
def layouts(draw, shape=None, dtype="f32", placement=None, kinds=("sum",), explicit=True):
    """Layouts in any order of axes, with explicit piece sizes at times."""
    shape = draw(shapes()) if shape is None else shape
    placement = draw(placements()) if placement is None else placement
    sbp = [draw(sbps(len(shape), kinds)) for _ in placement.axes]
    order, sizes = {}, {}
    for dim, size in enumerate(shape):
        axes = [axis for axis, one in zip(placement.axes, sbp, strict=True) if one == Split(dim)]
        if not axes:
            continue
        order[dim] = tuple(draw(st.permutations(axes)))
        num_pieces = math.prod(placement.axis_size(axis) for axis in axes)
        if explicit and draw(st.booleans()):
            cuts = sorted(draw(st.lists(st.integers(0, size), min_size=num_pieces - 1, max_size=num_pieces - 1)))
            sizes[dim] = tuple(int(n) for n in np.diff([0, *cuts, size]))
    partial = [axis for axis, one in zip(placement.axes, sbp, strict=True) if isinstance(one, Partial)]
    order["P"] = tuple(draw(st.permutations(partial)))
    return Layout(shape, dtype, placement, sbp, order=order, sizes=sizes)


@st.composite
def transitions(draw, num_world=8, kinds=("sum",), dtype="f32", same_placement=None):
    """(source, destination) of one tensor, on one placement or on two that overlap in any way."""
    shape = draw(shapes())
    here = draw(placements(num_world=num_world))
    same = draw(st.booleans()) if same_placement is None else same_placement
    there = here if same else draw(placements(num_world=num_world))
    return tuple(draw(layouts(shape, dtype, placement, kinds)) for placement in (here, there))
