"""The text of a layout: `f32[8@(dp,tp), 10@cp{4,3,3}] P(sum)@pp P(max)@ep`.

Each dim is a size, then the mesh axes that split it, outer first, then its piece sizes where they are not balanced.
Partial axes follow, outermost kind first. Axes that are not named hold copies.
"""

import re
from dataclasses import dataclass

_AXES = r"\w+|\(\s*\w+(?:\s*,\s*\w+)*\s*\)"
_LAYOUT = re.compile(r"\s*(?P<dtype>\w+)\[(?P<dims>[^\]]*)\]\s*(?P<partials>.*?)\s*", re.DOTALL)
_DIM = re.compile(rf"\s*(?P<size>\d+)\s*(?:@\s*(?P<axes>{_AXES})\s*(?:\{{(?P<sizes>\s*\d+(?:\s*,\s*\d+)*\s*)\}})?)?\s*")
_PARTIAL = re.compile(rf"P(?:\((?P<op>\w+)\))?@(?P<axes>{_AXES})\s*")


@dataclass(frozen=True)
class Dim:
    """One dim of a layout's text."""

    size: int
    axes: tuple[str, ...]
    # the mesh axes that split it, outer first
    sizes: tuple[int, ...] | None
    # its pieces, where they are not balanced


def write(dtype, dims, runs):
    """The text of a dtype, its dims, and its partial runs ((kind, axes), outermost first)."""
    text = f"{dtype}[{', '.join(map(_dim, dims))}]"
    return " ".join([text, *(f"P({op})@{_axes(axes)}" for op, axes in runs)])


def parse(text):
    """Text -> (dtype, dims, ((axis, kind), ...)). ValueError says which piece of the text cannot be read."""
    match = _LAYOUT.fullmatch(text)
    if not match:
        raise ValueError(f'{text!r} is no layout; write it as "f32[8@(dp,tp), 4] P(sum)@pp"')
    dims, at, body = [], 0, match["dims"]
    while body.strip():
        dim = _DIM.match(body, at)
        end = dim.end() if dim else at
        if not dim or (end < len(body) and body[end] != ","):
            raise ValueError(
                f'{body[at:]!r} in {text!r} is no dim; write a dim as "8", "8@dp", "8@(dp,tp)" or "5@dp{{4,1}}"'
            )
        sizes = None if dim["sizes"] is None else tuple(int(n) for n in dim["sizes"].split(","))
        dims.append(Dim(int(dim["size"]), _names(dim["axes"]), sizes))
        if end == len(body):
            break
        at = end + 1
    partials, at, tail = [], 0, match["partials"]
    while at < len(tail):
        partial = _PARTIAL.match(tail, at)
        if not partial:
            raise ValueError(f'{tail[at:]!r} in {text!r} is no partial; write "P(sum)@pp" or "P(sum)@(dp,pp)"')
        partials += [(axis, partial["op"] or "sum") for axis in _names(partial["axes"])]
        at = partial.end()
    return match["dtype"], tuple(dims), tuple(partials)


def _dim(dim):
    text = str(dim.size)
    if dim.axes:
        text += f"@{_axes(dim.axes)}"
    if dim.sizes is not None:
        text += "{" + ",".join(map(str, dim.sizes)) + "}"
    return text


def _axes(axes):
    return axes[0] if len(axes) == 1 else f"({','.join(axes)})"


def _names(text):
    return tuple(name.strip() for name in text.strip("()").split(",")) if text else ()
