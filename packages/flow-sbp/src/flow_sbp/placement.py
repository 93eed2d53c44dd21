"""A Placement: the ranks that hold a tensor, as a mesh with named axes."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np


@dataclass(frozen=True, init=False, repr=False)
class Placement:
    """`Placement([[0, 1], [2, 3]], ("dp", "tp"))`: distinct ranks in a nested list or array, one name per axis.

    ValueError / TypeError when ranks repeat, are negative or ragged, or the names do not fit. Immutable and hashable.
    """

    ranks: tuple[int, ...]
    # row-major over the mesh: "the placement's order"
    shape: tuple[int, ...]
    # the mesh's size along each axis
    axes: tuple[str, ...]
    # the axes' names, outer first

    def __init__(self, ranks, axes):
        axes = (axes,) if isinstance(axes, str) else tuple(axes)
        try:
            mesh = np.asarray(ranks)
        except ValueError:
            raise ValueError(f"ranks must be a rectangular nested list, got {ranks!r}") from None
        if mesh.size == 0:
            raise ValueError(f"a placement needs at least one rank, got {ranks!r}")
        if mesh.dtype.kind not in "iu":
            raise TypeError(f"ranks must be integers, got {ranks!r}")
        if len(axes) != mesh.ndim:
            raise ValueError(f"ranks of shape {mesh.shape} need {mesh.ndim} axis names, got {len(axes)}: {axes}")
        for name in axes:
            if not (isinstance(name, str) and name.isidentifier()):
                raise ValueError(f"an axis name is a word such as 'dp', got {name!r}")
        if len(set(axes)) != len(axes):
            raise ValueError(f"axis names must differ, got {axes}")
        flat = tuple(int(r) for r in mesh.ravel())
        if min(flat) < 0:
            raise ValueError(f"ranks count from 0, got {min(flat)}")
        if len(set(flat)) != len(flat):
            twice = sorted({r for r in flat if flat.count(r) > 1})
            raise ValueError(f"each rank may stand in a placement once, got {twice} more than once")
        object.__setattr__(self, "ranks", flat)
        object.__setattr__(self, "shape", mesh.shape)
        object.__setattr__(self, "axes", axes)

    @property
    def size(self):
        """The number of ranks."""
        return len(self.ranks)

    @cached_property
    def mesh(self):
        """The ranks as a read-only array of the mesh's shape."""
        mesh = np.array(self.ranks, dtype=np.int64).reshape(self.shape)
        mesh.flags.writeable = False
        return mesh

    @cached_property
    def _positions(self):
        return {rank: i for i, rank in enumerate(self.ranks)}

    def __contains__(self, rank):
        return rank in self._positions

    def index(self, rank):
        """The place of a rank in the placement's order."""
        if rank not in self._positions:
            raise ValueError(f"rank {rank} is not in {self!r}")
        return self._positions[rank]

    def coordinates(self, rank):
        """The rank's place on each axis."""
        return tuple(int(c) for c in np.unravel_index(self.index(rank), self.shape))

    def axis_index(self, axis):
        """The number of a named axis."""
        if axis not in self.axes:
            raise ValueError(f"{axis!r} is no axis of {self!r}; its axes are {', '.join(self.axes)}")
        return self.axes.index(axis)

    def axis_size(self, axis):
        """The number of ranks along a named axis."""
        return self.shape[self.axis_index(axis)]

    def groups(self, *axes):
        """The groups of ranks that differ only along the given axes, each in row-major order of those axes."""
        wanted = [self.axis_index(axis) for axis in axes]
        rest = [i for i in range(len(self.axes)) if i not in wanted]
        table = self.mesh.transpose(rest + wanted).reshape(-1, math.prod(self.shape[i] for i in wanted))
        return tuple(tuple(int(r) for r in row) for row in table)

    def offsets(self, axes):
        """What to add to a rank's place in the order to walk along the axes, the first axis outermost."""
        indices = [self.axis_index(axis) for axis in axes]
        strides = [math.prod(self.shape[i + 1 :]) for i in indices]
        walks = product(*(range(self.shape[i]) for i in indices))
        return np.array([sum(c * s for c, s in zip(walk, strides, strict=True)) for walk in walks], dtype=np.int64)

    def at(self, **coordinates):
        """The slice of the mesh at the given coordinates; those axes are gone: `p.at(pp=0)`."""
        index = [slice(None)] * len(self.axes)
        for axis, c in coordinates.items():
            if not 0 <= c < self.axis_size(axis):
                raise ValueError(f"axis {axis} has {self.axis_size(axis)} ranks, coordinate {c} is outside")
            index[self.axis_index(axis)] = c
        return Placement(self.mesh[tuple(index)], tuple(a for a in self.axes if a not in coordinates))

    def flatten(self, axes, name):
        """The same ranks with the given axes, in that order, as one axis that stands where the first of them stood."""
        wanted = [self.axis_index(axis) for axis in axes]
        if not wanted or len(set(wanted)) != len(wanted):
            raise ValueError(f"flatten takes distinct axes, got {tuple(axes)}")
        before = [i for i in range(wanted[0]) if i not in wanted]
        after = [i for i in range(wanted[0] + 1, len(self.axes)) if i not in wanted]
        shape = [self.shape[i] for i in before] + [-1] + [self.shape[i] for i in after]
        names = [self.axes[i] for i in before] + [name] + [self.axes[i] for i in after]
        return Placement(self.mesh.transpose(before + wanted + after).reshape(shape), names)

    def __repr__(self):
        return f"Placement({self.mesh.tolist()}, {self.axes})"
