"""Functions that arrange dims, in terms of ops."""

from flow_core.ops import elementwise
from flow_core.ops import shape as shapes
from flow_core.ops.creation import arange, full, sizes
from flow_core.ops.decomposition import conjugate
from flow_core.ops.index import slice_
from flow_core.spec import as_dim, as_dims, num_elements
from flow_core.spec import broadcast_shapes as common_shape

WHOLE = ("slice", None, None, None)


def along(x, dim, part):
    """x[part] in dim `dim`, all of the others; `part` is a slice."""
    piece = ("slice", part.start, part.stop, part.step)
    return slice_(x, index=tuple([piece if d == dim else WHOLE for d in range(x.ndim)]))


def broadcast_shapes(*shapes):
    """The shape that the shapes (tuples of ints, or ints) broadcast to; ValueError if there is none."""
    return common_shape("broadcast_shapes", *[tuple(s) if isinstance(s, (tuple, list)) else (s,) for s in shapes])


def broadcast_to(x, size):
    """x repeated along its dims of size 1, and new leading ones, to `size`. A read-only view."""
    return shapes.expand(x, shape=tuple(size))


def broadcast_tensors(*tensors):
    """The tensors expanded to the shape that theirs broadcast to."""
    shape = common_shape("broadcast_tensors", *[t.shape for t in tensors]) if tensors else ()
    return tuple([broadcast_to(t, shape) for t in tensors])


def expand_as(x, other):
    """x expanded to the shape of `other`."""
    return shapes.expand(x, shape=other.shape)


def reshape_as(x, other):
    """x's elements under the shape of `other`."""
    return shapes.reshape(x, shape=other.shape)


def ravel(x):
    """x's elements in one dim."""
    return shapes.reshape(x, shape=(-1,) if x.spec.size else (0,))


def unflatten(x, dim, sizes):
    """x with `dim` broken up into `sizes`, one of which may be -1."""
    dim = as_dim("unflatten", dim, x.ndim)
    known = num_elements([n for n in sizes if n != -1])
    inner = [x.shape[dim] // known if n == -1 and known else n for n in sizes]
    if num_elements(inner) != x.shape[dim]:
        raise ValueError(f"unflatten: sizes {tuple(sizes)} do not make up size {x.shape[dim]} of dim {dim}")
    return shapes.reshape(x, shape=(*x.shape[:dim], *inner, *x.shape[dim + 1 :]))


def movedim(x, source, destination):
    """x with the dims `source` (one or several) at the places `destination`, the others in their order. A view."""
    src, dst = (
        [as_dim("movedim", d, x.ndim) for d in (ds if isinstance(ds, (tuple, list)) else (ds,))]
        for ds in (source, destination)
    )
    if len(src) != len(dst) or len({*src}) != len(src) or len({*dst}) != len(dst):
        raise ValueError(f"movedim: source {source} and destination {destination} must name as many dims, each once")
    rest = iter([d for d in range(x.ndim) if d not in src])
    order = [src[dst.index(d)] if d in dst else next(rest) for d in range(x.ndim)]
    return shapes.permute(x, dims=tuple(order)) if order else x


def adjoint(x):
    """The matrices of the last two dims transposed, and conjugated where they are complex. ValueError for vectors."""
    if x.ndim == 1:
        raise ValueError(f"adjoint: {x.spec} has 1 dim, expected 2 or more, or none")
    turned = shapes.transpose(x, dim0=-2, dim1=-1) if x.ndim else x
    return conjugate(turned) if x.dtype.kind == "c" else turned


def hermitian(x):
    """The adjoint of a matrix or a number; ValueError for other numbers of dims."""
    if x.ndim not in (0, 2):
        raise ValueError(f"H: {x.spec} has {x.ndim} dims, expected 2 or none; use mH for batches of matrices")
    return adjoint(x)


def t(x):
    """A matrix transposed; a tensor of fewer dims as it is. ValueError for more than two dims."""
    if x.ndim > 2:
        raise ValueError(f"t: {x.spec} has {x.ndim} dims, expected 2 at most; use mT or transpose")
    return shapes.transpose(x, dim0=0, dim1=1) if x.ndim == 2 else x


def flip(x, *dims, **named):
    """x with the elements along each of `dims`, given one by one or as one sequence, in the opposite order."""
    if set(named) - {"dims"} or bool(dims) == bool(named):
        raise TypeError("flip: give the dims, as in flip(x, (0, 1)) or flip(x, dims=(0, 1))")
    turned = as_dims("flip", named["dims"] if named else sizes(dims), x.ndim)
    return slice_(x, index=tuple([("slice", None, None, -1) if d in turned else WHOLE for d in range(x.ndim)]))


def fliplr(x):
    """x with its columns in the opposite order. ValueError below 2 dims."""
    if x.ndim < 2:
        raise ValueError(f"fliplr: {x.spec} must have 2 dims at least")
    return flip(x, (1,))


def flipud(x):
    """x with its rows in the opposite order. ValueError for a 0-d tensor."""
    if x.ndim < 1:
        raise ValueError(f"flipud: {x.spec} must have a dim at least")
    return flip(x, (0,))


def roll(x, shifts, dims=None):
    """x with its elements moved on by `shifts` along `dims`, those beyond the end at the start; without dims in the flattened x."""
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    if dims is None:
        if len(shifts) != 1:
            raise ValueError(f"roll: {len(shifts)} shifts need as many dims")
        return shapes.reshape(roll(ravel(x), shifts, 0), shape=x.shape)
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if len(dims) != len(shifts):
        raise ValueError(f"roll: {len(shifts)} shifts and {len(dims)} dims given")
    if dims and not x.ndim:
        raise IndexError(f"roll: dims {dims} of a 0-d tensor")
    for shift, dim in zip(shifts, dims, strict=True):
        dim = as_dim("roll", dim, x.ndim)
        size = x.shape[dim] if x.ndim else 0
        if size and shift % size:
            cut = size - shift % size
            x = shapes.cat([along(x, dim, slice(cut, None)), along(x, dim, slice(None, cut))], dim=dim)
    return x


def rot90(x, k=1, dims=(0, 1)):
    """x turned by k quarters in the plane of two dims, from the first towards the second."""
    if len(dims) != 2 or x.ndim < 2 or as_dim("rot90", dims[0], x.ndim) == as_dim("rot90", dims[1], x.ndim):
        raise ValueError(f"rot90: dims {tuple(dims)} must be two different dims of {x.spec}")
    a, b = dims
    if k % 4 == 2:
        return flip(flip(x, a), b)
    if k % 4 == 0:
        return x
    turned = shapes.transpose(x, dim0=a, dim1=b)
    return flip(turned, a) if k % 4 == 1 else flip(turned, b)


def repeat(x, *repeats):
    """x tiled `repeats` times along each dim, new leading dims for those that x lacks. ValueError for fewer repeats than dims."""
    repeats = sizes(repeats)
    lead = len(repeats) - x.ndim
    if lead < 0:
        raise ValueError(f"repeat: {len(repeats)} repeats for the {x.ndim} dims of {x.spec}")
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in repeats):
        raise ValueError(f"repeat: repeats {tuple(repeats)} must be ints of 0 or more")
    old = (1,) * lead + x.shape
    apart = shapes.reshape(x, shape=tuple([n for size in old for n in (1, size)]))
    wide = shapes.expand(apart, shape=tuple([n for r, size in zip(repeats, old, strict=True) for n in (r, size)]))
    return shapes.reshape(wide, shape=tuple([r * size for r, size in zip(repeats, old, strict=True)]))


def tile(x, *dims):
    """As repeat, but fewer repeats than dims count for the last dims."""
    dims = sizes(dims)
    return repeat(x, *(1,) * (x.ndim - len(dims)), *dims)


def hstack(tensors):
    """Tensors joined along dim 1; 1-d ones along dim 0."""
    tensors = [atleast_1d(t) for t in tensors]
    if not tensors:
        raise ValueError("hstack: no tensors given")
    return shapes.cat(tensors, dim=0 if tensors[0].ndim == 1 else 1)


def vstack(tensors):
    """Tensors joined along dim 0, 1-d ones as rows."""
    return shapes.cat([atleast_2d(t) for t in tensors], dim=0)


def dstack(tensors):
    """Tensors joined along dim 2, made 3-d first."""
    return shapes.cat([atleast_3d(t) for t in tensors], dim=2)


def column_stack(tensors):
    """Tensors joined as columns: 1-d and 0-d ones become one each."""
    return hstack([shapes.reshape(t, shape=(t.spec.size, 1)) if t.ndim < 2 else t for t in tensors])


def atleast_1d(x):
    """x with a dim at least; of a sequence of tensors each."""
    if isinstance(x, (tuple, list)):
        return tuple([atleast_1d(t) for t in x])
    return shapes.reshape(x, shape=(1,)) if x.ndim == 0 else x


def atleast_2d(x):
    """x with two dims at least, new ones in front; of a sequence of tensors each."""
    if isinstance(x, (tuple, list)):
        return tuple([atleast_2d(t) for t in x])
    return shapes.reshape(x, shape=(1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x


def atleast_3d(x):
    """x with three dims at least: a vector in the middle, a matrix in front; of a sequence of tensors each."""
    if isinstance(x, (tuple, list)):
        return tuple([atleast_3d(t) for t in x])
    if x.ndim > 2:
        return x
    return shapes.reshape(atleast_2d(x), shape=(*atleast_2d(x).shape, 1))


MOST_PARTS = 2**20  # of more, mostly empty, parts the tuple alone would fill the memory


def tensor_split(x, indices_or_sections, dim=0):
    """x cut along `dim` into that many parts (the first size % n one larger), or at the given places. A tuple of views."""
    if not x.ndim:
        raise ValueError("tensor_split: a 0-d tensor cannot be cut")
    dim = as_dim("tensor_split", dim, x.ndim)
    size = x.shape[dim]
    if hasattr(indices_or_sections, "spec"):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if not 1 <= n <= MOST_PARTS:
            raise ValueError(f"tensor_split: {n} sections, expected 1 to {MOST_PARTS}")
        cuts = [i * (size // n) + min(i, size % n) for i in range(1, n)]
    else:
        cuts = list(indices_or_sections)
    bounds = [0, *cuts, size]
    return tuple([along(x, dim, slice(a, b)) for a, b in zip(bounds, [*cuts, None], strict=False)])


def hsplit(x, indices_or_sections):
    """tensor_split along dim 1, or dim 0 of a vector; a number of sections must divide the size."""
    return even_split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, 1)


def vsplit(x, indices_or_sections):
    """tensor_split along dim 0; a number of sections must divide the size."""
    return even_split("vsplit", x, indices_or_sections, 0, 2)


def dsplit(x, indices_or_sections):
    """tensor_split along dim 2; a number of sections must divide the size."""
    return even_split("dsplit", x, indices_or_sections, 2, 3)


def even_split(name, x, parts, dim, least):
    if x.ndim < least:
        raise ValueError(f"{name}: {x.spec} must have {least} dims at least")
    if hasattr(parts, "spec"):
        parts = parts.tolist()
    if isinstance(parts, int) and (parts < 1 or x.shape[dim] % parts):
        raise ValueError(f"{name}: {parts} sections do not divide size {x.shape[dim]} of dim {dim}")
    return tensor_split(x, parts, dim)


def split_with_sizes(x, split_sizes, dim=0):
    """x cut along `dim` into pieces of the given sizes. A tuple of views."""
    return shapes.split(x, list(split_sizes), dim)


def narrow(x, dim, start, length):
    """The part of x along `dim` from `start` (from the end if negative), of `length`. A view."""
    dim = as_dim("narrow", dim, x.ndim)
    if not x.ndim:
        raise ValueError("narrow: a 0-d tensor has no dim to take a part of")
    size, begin = x.shape[dim], int(start)
    begin += size if begin < 0 else 0
    if length < 0 or not 0 <= begin <= size or begin + length > size:
        raise ValueError(f"narrow: start {int(start)} and length {length} are not within size {size} of dim {dim}")
    return along(x, dim, slice(begin, begin + length))


def select(x, dim, index):
    """The slice of x at `index` along `dim`, without that dim. A view."""
    dim = as_dim("select", dim, x.ndim)
    return slice_(x, index=tuple([index if d == dim else WHOLE for d in range(x.ndim)]))


def meshgrid(*tensors, indexing="ij"):
    """The coordinates of a grid from those along each dim, as many tensors; "xy" exchanges the first two dims. Read-only views."""
    tensors = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    if indexing not in ("ij", "xy"):
        raise ValueError(f'meshgrid: indexing is {indexing!r}, expected "ij" or "xy"')
    if not tensors or any(t.ndim > 1 for t in tensors):
        raise ValueError("meshgrid: expected tensors of one dim at most, one or more")
    if indexing == "xy" and len(tensors) > 1:
        ys, xs, *rest = meshgrid(tensors[1], tensors[0], *tensors[2:])
        return (xs, ys, *rest)
    shape = tuple([t.spec.size for t in tensors])
    return tuple(
        [
            shapes.expand(shapes.reshape(t, shape=tuple([n if d == i else 1 for d in range(len(shape))])), shape=shape)
            for i, (t, n) in enumerate(zip(tensors, shape, strict=True))
        ]
    )


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers evenly from `start` to `end` (numbers or 0-d tensors), both included."""
    start, end = (v.item() if hasattr(v, "spec") else v for v in (start, end))
    return line(start, end, steps, dtype, device).requires_grad_(requires_grad)


def line(start, end, steps, dtype, device):
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"linspace: steps is {steps!r}, expected an int of 0 or more")
    if steps == 1:
        return full(shape=(1,), fill_value=float(start), dtype=dtype, device=device)
    steps_up = elementwise.mul(arange(0, steps, dtype="float64", device=device), (end - start) / max(steps - 1, 1))
    return elementwise.cast(elementwise.add(steps_up, float(start)), dtype=dtype or "float32")


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers from base^start to base^end, evenly in the exponent."""
    powers = elementwise.pow(float(base), linspace(start, end, steps, dtype="float64", device=device))
    return elementwise.cast(powers, dtype=dtype or "float32").requires_grad_(requires_grad)


swapaxes = swapdims = shapes.transpose
moveaxis, concat, concatenate, row_stack = movedim, shapes.cat, shapes.cat, vstack

# The names that flow_core takes over, and those that tensors have as methods.
METHOD_NAMES = """broadcast_to expand_as reshape_as ravel unflatten movedim moveaxis adjoint t flip fliplr flipud roll rot90 repeat tile
tensor_split hsplit vsplit dsplit split_with_sizes narrow select swapaxes swapdims""".split()
FUNCTION_NAMES = """broadcast_shapes broadcast_tensors hstack vstack dstack column_stack row_stack atleast_1d atleast_2d atleast_3d
meshgrid linspace logspace concat concatenate""".split()
__all__ = [*[name for name in METHOD_NAMES if name not in ("repeat", "expand_as", "reshape_as")], *FUNCTION_NAMES]
METHODS = {
    **{name: globals()[name] for name in METHOD_NAMES},
    "view_as": reshape_as,
    "mH": property(adjoint),
    "H": property(hermitian),
}
