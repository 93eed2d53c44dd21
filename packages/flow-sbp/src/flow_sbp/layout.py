"""A Layout: which slice of a global tensor each rank of a placement holds, and which mesh axes hold parts of it.

It is kept by dim: for each dim the ordered mesh axes that split it, and the partial axes with their kinds in order.
Splits are balanced (the first `size % n` ranks hold one more), axes on one dim split outer first and each piece is
balanced again.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from flow_sbp import notation
from flow_sbp.dtype import dtype_of
from flow_sbp.placement import Placement
from flow_sbp.reduction import refusal
from flow_sbp.sbp import Broadcast, Partial, Split, broadcast, dual, parse_many


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """`Layout((8, 4), "f32", placement, ["S(0)", "B"])`: one sbp per mesh axis, as text or value.

    order: where several axes split a dim, their order, outer first, if it is not the mesh's: `{0: ("tp", "dp")}`;
    under "P", the order of partial axes of different kinds, outermost first. sizes: explicit piece sizes of a split
    dim, one per piece in that order, empty ones allowed: `{0: (2, 4, 1, 0)}`. ValueError / TypeError for anything
    that does not fit, once, here.
    """

    shape: tuple[int, ...]
    # of the global tensor
    dtype: str
    # its short name: f32, bf16, i64
    placement: Placement
    # where it lives
    splits: tuple[tuple[str, ...], ...]
    # for each dim, the mesh axes that split it, outer first
    partials: tuple[tuple[str, str], ...]
    # (axis, kind), outermost first; neighbours of one kind stand in the mesh's order
    bounds: tuple[tuple[int, ...], ...]
    # for each dim, where its pieces begin and end: one more entry than pieces

    def __init__(self, shape, dtype, placement, sbp, *, order=None, sizes=None):
        if not isinstance(placement, Placement):
            raise TypeError(f"placement must be a Placement, got {placement!r}")
        sbp = parse_many(sbp)
        if len(sbp) != len(placement.axes):
            raise ValueError(
                f"one sbp per mesh axis: {placement!r} has {len(placement.axes)} axes, got {len(sbp)} sbp: "
                f"({', '.join(map(str, sbp))})"
            )
        shape, order = _shape(shape), dict(order or {})
        splits, partials = [[] for _ in shape], []
        for axis, one in zip(placement.axes, sbp, strict=True):
            if isinstance(one, Split):
                splits[_dim(one.dim, shape)].append(axis)
            elif isinstance(one, Partial):
                partials.append((axis, one.op))
        if "P" in order:
            wanted = tuple(order.pop("P"))
            if sorted(wanted) != sorted(axis for axis, _ in partials):
                raise ValueError(f'order["P"] = {wanted} must name the partial axes {[axis for axis, _ in partials]}')
            partials.sort(key=lambda partial: wanted.index(partial[0]))
        for dim, axes in order.items():
            if sorted(axes) != sorted(splits[_dim(dim, shape)]):
                raise ValueError(
                    f"order of dim {dim} = {tuple(axes)} must name the axes that split it, {splits[_dim(dim, shape)]}"
                )
            splits[_dim(dim, shape)] = list(axes)
        self._set(shape, dtype, placement, splits, partials, sizes or {})

    @classmethod
    def by_dim(cls, shape, dtype, placement, splits, partials=(), sizes=None):
        """The layout in its own terms: the axes that split each dim, and (axis, kind) pairs, both outer first."""
        self = object.__new__(cls)
        self._set(_shape(shape), dtype, placement, splits, partials, sizes or {})
        return self

    @classmethod
    def parse(cls, text, placement):
        """The layout that prints as `text` on this placement: `Layout.parse("f32[8@(dp,tp), 4] P(sum)@pp", mesh)`."""
        dtype, dims, partials = notation.parse(text)
        sizes = {i: dim.sizes for i, dim in enumerate(dims) if dim.sizes is not None}
        return cls.by_dim([d.size for d in dims], dtype, placement, [d.axes for d in dims], partials, sizes)

    def _set(self, shape, dtype, placement, splits, partials, sizes):
        row = dtype_of(dtype)
        splits = tuple(tuple(axes) for axes in splits)
        if len(splits) != len(shape):
            raise ValueError(f"splits names the axes of each of {len(shape)} dims, got {len(splits)}")
        used = [axis for axes in splits for axis in axes] + [axis for axis, _ in partials]
        for axis in used:
            placement.axis_index(axis)
            if used.count(axis) > 1:
                raise ValueError(
                    f"axis {axis} is used {used.count(axis)} times; a mesh axis splits one dim or holds parts"
                )
        partials = _canonical([(axis, Partial(op).op) for axis, op in partials], placement)
        for axis, op in partials:
            if why := refusal(op, row):
                raise ValueError(f"P({op})@{axis} of {row.name}: {why}")
        sizes = {_dim(dim, shape): tuple(pieces) for dim, pieces in sizes.items()}
        bounds = []
        for dim, (size, axes) in enumerate(zip(shape, splits, strict=True)):
            counts = [placement.axis_size(axis) for axis in axes]
            pieces = sizes.get(dim)
            bounds.append(balanced(size, counts) if pieces is None else _explicit(dim, size, counts, pieces))
        for name, value in (("shape", shape), ("dtype", row.name), ("placement", placement), ("splits", splits),
                            ("partials", partials), ("bounds", tuple(bounds))):  # fmt: skip
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", hash((shape, row.name, placement, splits, partials, self.bounds)))

    def __hash__(self):
        return self._hash

    @cached_property
    def sbp(self):
        """One sbp per mesh axis."""
        by_axis = {axis: Split(dim) for dim, axes in enumerate(self.splits) for axis in axes}
        by_axis.update((axis, Partial(op)) for axis, op in self.partials)
        return tuple(by_axis.get(axis, broadcast) for axis in self.placement.axes)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def itemsize(self):
        """Bytes of an element."""
        return dtype_of(self.dtype).size

    @property
    def nbytes(self):
        """Bytes of the whole value, once."""
        return math.prod(self.shape) * self.itemsize

    @cached_property
    def sizes(self):
        """The piece sizes of each dim whose pieces are not balanced: {dim: sizes}."""
        explicit = {}
        for dim, (size, axes) in enumerate(zip(self.shape, self.splits, strict=True)):
            if self.bounds[dim] != balanced(size, [self.placement.axis_size(axis) for axis in axes]):
                explicit[dim] = tuple(np.diff(self.bounds[dim]).tolist())
        return explicit

    @cached_property
    def partial_runs(self):
        """The partial axes grouped by kind, outermost first: ((kind, axes), ...)."""
        runs = []
        for axis, op in self.partials:
            if not runs or runs[-1][0] != op:
                runs.append((op, ()))
            runs[-1] = (op, (*runs[-1][1], axis))
        return tuple(runs)

    @cached_property
    def addend_numbers(self):
        """{rank: which addend it holds}, counted along the partial axes, outermost first; all 0 where none is."""
        groups = self.placement.groups(*(axis for axis, _ in self.partials))
        return {rank: i for group in groups for i, rank in enumerate(group)}

    @property
    def broadcast_axes(self):
        """The mesh axes along which every rank holds the same."""
        return tuple(
            axis for axis, one in zip(self.placement.axes, self.sbp, strict=True) if isinstance(one, Broadcast)
        )

    @cached_property
    def _slices(self):
        mesh, held = self.placement, {}
        for rank in mesh.ranks:
            at, slices = dict(zip(mesh.axes, mesh.coordinates(rank), strict=True)), []
            for axes, bounds in zip(self.splits, self.bounds, strict=True):
                piece = 0
                for axis in axes:
                    piece = piece * mesh.axis_size(axis) + at[axis]
                slices.append(slice(bounds[piece], bounds[piece + 1]))
            held[rank] = tuple(slices)
        return held

    def local_slices(self, rank):
        """The slice of the global tensor that a rank holds, one `slice` per dim."""
        if rank not in self._slices:
            self.placement.index(rank)  # says so
        return self._slices[rank]

    def local_shape(self, rank):
        """The shape of what a rank holds."""
        return tuple(s.stop - s.start for s in self.local_slices(rank))

    def local_nbytes(self, rank):
        """The bytes of what a rank holds."""
        return math.prod(self.local_shape(rank)) * self.itemsize

    def with_sbp(self, sbp, *, order=None, sizes=None):
        """The same tensor on the same placement, otherwise laid out."""
        return Layout(self.shape, self.dtype, self.placement, sbp, order=order, sizes=sizes)

    def dual(self):
        """The layout of the gradient: B and P change places, S keeps its order and pieces."""
        partials = [(axis, "sum") for axis in self.broadcast_axes]
        for one in self.sbp:
            dual(one)  # refuses kinds that are not linear
        return Layout.by_dim(self.shape, self.dtype, self.placement, self.splits, partials, self.sizes)

    def __str__(self):
        dims = [
            notation.Dim(n, axes, self.sizes.get(i))
            for i, (n, axes) in enumerate(zip(self.shape, self.splits, strict=True))
        ]
        return notation.write(self.dtype, dims, self.partial_runs)

    def __repr__(self):
        return f"<{self} on {self.placement!r}>"


def balanced(size, counts):
    """Where the pieces begin and end when `size` is split by counts[0], and each piece by counts[1], and so on.

    10 by (2, 2) gives pieces of 3, 2, 3, 2: (0, 3, 5, 8, 10).
    """
    pieces = [size]
    for n in counts:
        pieces = [piece // n + (i < piece % n) for piece in pieces for i in range(n)]
    bounds = [0]
    for piece in pieces:
        bounds.append(bounds[-1] + piece)
    return tuple(bounds)


def _explicit(dim, size, counts, pieces):
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in pieces):
        raise ValueError(f"sizes of dim {dim} must be integers >= 0, got {pieces}")
    if not counts:
        raise ValueError(f"sizes of dim {dim} are given ({pieces}), but no mesh axis splits it")
    if len(pieces) != math.prod(counts):
        raise ValueError(f"dim {dim} is split into {math.prod(counts)} pieces, got {len(pieces)} sizes: {pieces}")
    if sum(pieces) != size:
        raise ValueError(f"sizes of dim {dim} must add up to {size}, {pieces} add up to {sum(pieces)}")
    return (0, *np.cumsum([int(n) for n in pieces]).tolist())


def _canonical(partials, placement):
    """Partial axes of one kind commute: neighbours of one kind are put in the mesh's order."""
    out = []
    for op, run in groupby(partials, key=lambda partial: partial[1]):
        out += [(axis, op) for axis in sorted((axis for axis, _ in run), key=placement.axis_index)]
    return tuple(out)


def _shape(shape):
    given, shape = shape, tuple(shape) if not isinstance(shape, (int, np.integer)) else (shape,)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in shape):
        raise TypeError(f"a shape is a tuple of integers, got {given!r}")
    if any(n < 0 for n in shape):
        raise ValueError(f"sizes must be >= 0, got shape {shape}")
    return tuple(int(n) for n in shape)


def _dim(dim, shape):
    if not -len(shape) <= dim < len(shape):
        raise ValueError(f"S({dim}) of a tensor with {len(shape)} dims: shape {shape}")
    return dim % len(shape)


def check_layout(name, given):
    """TypeError when what was given for `name` is no Layout."""
    if not isinstance(given, Layout):
        raise TypeError(f"{name} must be a Layout, got {given!r}")
