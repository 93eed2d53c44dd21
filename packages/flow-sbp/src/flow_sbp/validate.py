"""`validate`: proves every signature of a rule by running the op on shards and comparing with the whole op."""

import math

import numpy as np

from flow_sbp.layout import Layout
from flow_sbp.placement import Placement
from flow_sbp.shards import assemble, shard
from flow_sbp.signature import bind, mesh_signatures


def validate(rule, function, shapes, *, meshes=((2,), (3,), (2, 2)), draw=None, seed=0, rtol=1e-9):
    """The number of signatures proved: assemble(function(shards)) = function(whole) for each signature on each mesh.

    function takes and returns numpy arrays (a tuple for several outputs). draw(rng, shape) makes an input; the
    default is normal f64, both signs. Partial inputs are cut into addends of both signs, each as large as the value,
    none of them zero. ValueError names the first signature that is wrong, the mesh and the largest difference.
    """
    shapes = tuple(tuple(shape) for shape in shapes)
    draw = draw or (lambda rng, shape: rng.normal(size=shape))
    rng = np.random.default_rng(seed)
    whole = [np.asarray(draw(rng, shape)) for shape in shapes]
    expected = _tuple(function(*whole))
    bound, proved = bind(rule, shapes), 0
    for shape, value in zip(bound.output_shapes, expected, strict=True):
        if shape != value.shape:
            raise ValueError(f"{rule}: the rule's output is {shape}, the function's is {value.shape}")
    for mesh in meshes:
        placement = Placement(np.arange(math.prod(mesh)).reshape(mesh), [f"axis{i}" for i in range(len(mesh))])
        for row in mesh_signatures(rule, shapes, len(mesh)):
            _prove(rule, function, row, placement, whole, expected, rng, rtol)
            proved += 1
    return proved


def _prove(rule, function, row, placement, whole, expected, rng, rtol):
    inputs = []
    for value, sbp in zip(whole, row.inputs, strict=True):
        inputs.append(addends(value, Layout(value.shape, value.dtype, placement, sbp), rng))
    results = [_tuple(function(*shards)) for shards in zip(*inputs, strict=True)]
    for i, (value, sbp) in enumerate(zip(expected, row.outputs, strict=True)):
        where = f"{rule}: signature {row} on mesh {placement.shape}, inputs {[w.shape for w in whole]}, output {i}"
        try:
            got = assemble([result[i] for result in results], Layout(value.shape, value.dtype, placement, sbp))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from None
        if not np.allclose(got, value, rtol=rtol, atol=rtol):
            raise ValueError(f"{where} is wrong by up to {np.abs(got - value).max():.3g}")


def addends(value, layout, rng):
    """What each rank holds of a value, like `shard`, but with random parts on every rank of a P(sum) axis."""
    axes = [axis for axis, _ in layout.partials]
    if not axes or {op for _, op in layout.partials} != {"sum"}:
        return shard(value, layout)
    groups = layout.placement.groups(*axes)
    parts = [rng.choice([-1, 1], value.shape) * (np.abs(value) + 1).astype(value.dtype) for _ in groups[0][1:]]
    parts = [part.astype(value.dtype) for part in parts]
    with np.errstate(over="ignore"):  # integers wrap around, and back when they are added
        parts.append((value - sum(parts)).astype(value.dtype))
    number = layout.addend_numbers
    return [parts[number[rank]][(*layout.local_slices(rank), ...)].copy() for rank in layout.placement.ranks]


def _tuple(result):
    return tuple(np.asarray(r) for r in (result if isinstance(result, tuple) else (result,)))
