"""Sharding rules of indexing: dims that an index takes whole can be split, the others must be whole."""

from flow_sbp.rules.dims import names, text
from flow_sbp.signature import Rule

WHOLE_SLICE = ("slice", None, None, None)


def sliced(shape, index):
    """(factors of the indexed tensor, factors of the result, those no axis splits, fresh ones) of an index in normal form."""
    dims, out, whole, fresh, dim = [f"d{i}" for i in range(len(shape))], [], [], [], 0
    for i in index:
        if i is None:
            out.append("1")
            continue
        if isinstance(i, tuple) and is_whole(i, shape[dim]):
            out.append(dims[dim])
        else:
            whole.append(dims[dim])
            if isinstance(i, tuple):
                fresh.append((f"n{dim}", len(range(*slice(*i[1:]).indices(shape[dim])))))
                out.append(f"n{dim}")
        dim += 1
    return dims, [*out, *dims[dim:]], tuple(whole), tuple(fresh)


def is_whole(i, size):
    """True for a slice that takes a dim as it is."""
    return slice(*i[1:]).indices(size) == (0, size, 1)


def slice_(x, index):
    dims, out, whole, fresh = sliced(x.shape, index)
    return Rule(text([dims], [out]), ((0,),), whole=whole, fresh=fresh)


def local_slice(attrs, ins, outs, rank):
    """The index with its whole slices whole on every rank."""
    return {**attrs, "index": whole_slices(ins[0].shape, attrs["index"])}


def whole_slices(shape, index):
    """The index with the slices that take a dim as it is spelled without sizes."""
    out, dim = [], 0
    for i in index:
        out.append(WHOLE_SLICE if isinstance(i, tuple) and is_whole(i, shape[dim]) else i)
        dim += i is not None
    return tuple(out)


def slice_backward(g, index, shape):
    dims, out, whole, fresh = sliced(shape, index)
    filled = tuple((name, shape[int(name[1:])]) for name in whole)
    return Rule(text([out], [dims]), ((0,),), whole=tuple(name for name, _ in fresh), fresh=filled)


def local_slice_backward(attrs, ins, outs, rank):
    return {"index": whole_slices(attrs["shape"], attrs["index"]), "shape": outs[0].local_shape(rank)}


def take_rows(ids, weight):
    """The rows must be whole; ids and columns can be split."""
    i, columns = names(ids, "i"), names(weight)[1:]
    return Rule(text([i, ["v", *columns]], [[*i, *columns]]), ((1,),), whole=("v",))


def add_rows(g, ids, num_rows):
    """Split ids leave partial sums of the rows."""
    i = names(ids, "i")
    columns = names(g)[len(i) :]
    return Rule(text([[*i, *columns], i], [["v", *columns]]), ((0,),), fresh=(("v", num_rows),))


RULES = {
    "slice_": slice_,
    "slice_backward": slice_backward,
    "take_rows": take_rows,
    "add_rows": add_rows,
}
LOCAL = {"slice_": local_slice, "slice_backward": local_slice_backward}
