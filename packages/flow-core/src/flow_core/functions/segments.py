"""Reductions over neighbouring slices."""

import numpy as np

from flow_core.dtype import CATEGORIES
from flow_core.functions.placing import combined, neutral
from flow_core.functions.subscript import plain, require_tensors
from flow_core.ops import elementwise, shape
from flow_core.ops.creation import full
from flow_core.spec import as_dim
from flow_core.tensor import from_numpy

NAMES = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}


def _segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """The slices of `data` along `axis` reduced ("sum", "mean", "max", "min", "prod") in runs of `lengths`, or between `offsets`.

    Lengths (or offsets) have data's shape before `axis`, and then the number of runs (and one). Every run begins with
    `initial`, which "mean" adds but does not count; without it an empty run gives 0, 1, NaN for "mean", or the infinity that
    changes nothing.
    """
    if reduce not in NAMES:
        raise ValueError(f"_segment_reduce: reduce is {reduce!r}, expected one of {', '.join(NAMES)}")
    require_tensors("_segment_reduce", data=data)
    if CATEGORIES[data.dtype] != 2:
        raise TypeError(f"_segment_reduce: {data.spec} is not of a float type")
    if indices is not None or (lengths is None) == (offsets is None):
        raise ValueError("_segment_reduce: give lengths or offsets")
    axis = as_dim("_segment_reduce", axis, data.ndim)
    given = lengths if offsets is None else offsets
    require_tensors("_segment_reduce", **{"lengths" if offsets is None else "offsets": given})
    if CATEGORIES[given.dtype] != 1 or given.shape[:-1] != data.shape[:axis] or given.ndim != axis + 1:
        raise ValueError(f"_segment_reduce: lengths or offsets {given.spec} do not fit {data.spec} along dim {axis}")
    counts, ends = plain("_segment_reduce", given), None
    if offsets is not None:
        ends, counts = counts, np.diff(counts, axis=-1)
    size = data.shape[axis]
    if (counts < 0).any():
        raise ValueError("_segment_reduce: a length is negative")
    if offsets is None and (counts.sum(-1) != size).any() and not unsafe:
        raise ValueError(f"_segment_reduce: lengths do not add up to the size {size} of dim {axis}")
    if ends is not None and ends.size and (ends.min() < 0 or ends.max() > size):
        raise IndexError(f"_segment_reduce: offsets are out of range for the size {size} of dim {axis}")
    num_runs = counts.shape[-1]
    # The run of each slice, one more for what no run takes.
    names = run_names(counts.reshape(-1, num_runs), None if ends is None else ends.reshape(-1, num_runs + 1), size)
    names = names.reshape(*data.shape[: axis + 1], *[1] * (data.ndim - axis - 1))
    names = shape.expand(from_numpy(names), shape=data.shape)
    kind = "sum" if reduce == "mean" else NAMES[reduce]
    start = neutral(kind, data.dtype) if initial is None else initial
    out = full((*data.shape[:axis], num_runs + 1, *data.shape[axis + 1 :]), float(start), dtype=data.dtype)
    out = combined(out, axis, names, data, kind, True)
    out = out[tuple([slice(num_runs) if d == axis else slice(None) for d in range(data.ndim)])]
    if reduce != "mean":
        return out
    divisor = np.where(counts == 0, np.nan if initial is None else 1, counts)
    divisor = divisor.reshape(*counts.shape, *[1] * (data.ndim - axis - 1)).astype(data.dtype)
    return elementwise.div(out, from_numpy(divisor))


def run_names(counts, ends, size):
    """For each row, the number of the run that each of `size` places lies in; the number of runs for those in none."""
    num_runs = counts.shape[1]
    names = np.full((len(counts), size), num_runs, np.int64)
    for row, lengths in enumerate(counts):
        first = 0 if ends is None else ends[row, 0]
        runs = np.repeat(np.arange(num_runs), lengths)[: size - first]
        names[row, first : first + len(runs)] = runs
    return names


FUNCTIONS = {"_segment_reduce": _segment_reduce}
METHODS = {}
