"""Sharding rules as named factors, `"b m k, k n -> b m n"`, and the signatures that follow from them.

A factor that the output has splits it; a contracted one leaves it partial; linearity adds rows with partial inputs;
holding everything everywhere is always right. The notation is Shardy's and einsum's. "..." stands for leading dims
that broadcast, "1" for a dim of size 1 that no axis splits.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from flow_sbp.sbp import KINDS, Partial, Sbp, Split, broadcast


@dataclass(frozen=True)
class Rule:
    """`Rule("m k, k n -> m n", linear=((0,), (1,)))`; checked at construction; ValueError says what is wrong."""

    text: str
    # inputs -> outputs, each the factors of its dims
    linear: tuple[tuple[int, ...], ...] = ()
    # groups of inputs that may be partial together while the rest is whole: ((0, 1),) for add, ((0,), (1,)) for mul
    reduce: str = "sum"
    # what a contracted factor leaves the output partial in
    whole: tuple[str, ...] = ()
    # factors that no axis may split
    fresh: tuple[tuple[str, int], ...] = ()
    # factors that outputs alone have, with their sizes; no axis splits them
    added: tuple[int, ...] = ()
    # inputs that are added to the result, as a bias: where a contracted factor is split, only one part may add them

    def __post_init__(self):
        inputs, outputs = _factors(self.text)
        given = [name for dims in inputs for name in dims]
        for dims in (*inputs, *outputs):
            if len({*dims} - {"1"}) != len([name for name in dims if name != "1"]):
                raise ValueError(f"{self.text!r} names a factor twice in one tensor: {' '.join(dims)}")
            if "..." in dims[1:]:
                raise ValueError(f'{self.text!r}: "..." stands for leading dims, so it comes first')
        for dims in outputs:
            if unknown := set(dims) - set(given) - {"1", *(name for name, _ in self.fresh)}:
                raise ValueError(f"{self.text!r}: no input has the output's factors {', '.join(sorted(unknown))}")
        if self.reduce not in KINDS:
            raise ValueError(f"reduce is one of {', '.join(KINDS)}, got {self.reduce!r}")
        if clash := {name for name, _ in self.fresh} & set(given):
            raise ValueError(
                f"fresh={self.fresh} names factors that inputs of {self.text!r} have: {', '.join(sorted(clash))}"
            )
        for group in (*self.linear, *((i,) for i in self.added)):
            if not group or not set(group) <= set(range(len(inputs))):
                raise ValueError(
                    f"linear={self.linear} or added={self.added} names inputs of {self.text!r}, which has {len(inputs)}"
                )
        if unknown := set(self.whole) - set(given):
            raise ValueError(f"whole={self.whole} names no factors of {self.text!r}: {', '.join(sorted(unknown))}")

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class Signature:
    """For one mesh axis, or as tuples of sbp for several: how the inputs lie, and how the outputs then lie."""

    inputs: tuple
    # one sbp per input (for several axes: a tuple of one sbp per axis)
    outputs: tuple
    # likewise per output

    def __str__(self):
        return f"{', '.join(map(_text, self.inputs))} -> {', '.join(map(_text, self.outputs))}"


@dataclass(frozen=True)
class Bound:
    """A rule bound to shapes: every "..." spelled out, every dim of size 1 that broadcasts without a factor."""

    rule: Rule
    inputs: tuple
    # per input, per dim: its factor or None
    outputs: tuple
    # likewise
    sizes: tuple
    # (factor, size), in the order in which the inputs name them

    @property
    def output_shapes(self):
        """The outputs' shapes."""
        sizes = dict(self.sizes)
        return tuple(tuple(sizes.get(name, 1) for name in dims) for dims in self.outputs)


@lru_cache(maxsize=4096)
def bind(rule, shapes):
    """The Bound of a rule and the inputs' shapes. ValueError when their number, ndim or sizes do not fit."""
    inputs, outputs = _factors(rule.text)
    if len(shapes) != len(inputs):
        raise ValueError(f"{rule.text!r} takes {len(inputs)} inputs, got {len(shapes)} shapes")
    sizes, bound = {}, []
    for dims, shape in zip(inputs, shapes, strict=True):
        spread = len(shape) - len([name for name in dims if name != "..."])
        if spread < 0 or (spread and "..." not in dims):
            raise ValueError(f"{rule.text!r}: an input with dims {' '.join(dims) or '(none)'} got shape {shape}")
        bound.append([f".{spread - 1 - i}" for i in range(spread)] + [name for name in dims if name != "..."])
    for dims, shape in zip(bound, shapes, strict=True):
        for name, size in zip(dims, shape, strict=True):
            if name == "1":
                if size != 1:
                    raise ValueError(f'{rule.text!r}: a dim marked "1" has size {size} in {shapes}')
                continue
            known = sizes.get(name)
            if known in (None, 1) and (known is None or name.startswith(".")):
                sizes[name] = size
            elif size != known and not (size == 1 and name.startswith(".")):
                which = f"batch dim {int(name[1:]) + 1} from the right" if name.startswith(".") else f"factor {name}"
                raise ValueError(f"{rule.text!r}: {which} is {known} in one input and {size} in another: {shapes}")
    most = max((int(name[1:]) + 1 for name in sizes if name.startswith(".")), default=0)
    wide = [f".{most - 1 - i}" for i in range(most)]
    out = tuple(tuple(n for name in dims for n in (wide if name == "..." else [name])) for dims in outputs)
    kept = [
        tuple(name if size == sizes.get(name) else None for name, size in zip(dims, shape, strict=True))
        for dims, shape in zip(bound, shapes, strict=True)
    ]
    return Bound(rule, tuple(kept), out, (*sizes.items(), *rule.fresh))


@lru_cache(maxsize=4096)
def signatures(rule, shapes):
    """Every signature of one mesh axis for inputs of these shapes: all B, a row a factor, then the partial rows."""
    bound = bind(rule, shapes)
    rows = [Signature((broadcast,) * len(bound.inputs), (broadcast,) * len(bound.outputs))]
    for name, _ in bound.sizes:
        if name in rule.whole or name in dict(rule.fresh):
            continue
        contracted = not any(name in dims for dims in bound.outputs)
        others = [
            Partial(rule.reduce) if contracted and i in rule.added else broadcast for i in range(len(bound.inputs))
        ]
        inputs = tuple(_where(name, dims, other) for dims, other in zip(bound.inputs, others, strict=True))
        rows.append(Signature(inputs, tuple(_where(name, dims, Partial(rule.reduce)) for dims in bound.outputs)))
    for group in rule.linear:
        inputs = tuple(Partial() if i in group else broadcast for i in range(len(bound.inputs)))
        rows.append(Signature(inputs, (Partial(),) * len(bound.outputs)))
    return tuple(rows)


@lru_cache(maxsize=1024)
def mesh_signatures(rule, shapes, num_axes):
    """The product over the mesh's axes: each input's and output's entry is a tuple of one sbp per axis.

    Rows that mix partial kinds along several axes are left out where their order of reduction would matter.
    """
    rows = []
    for row in product(signatures(rule, shapes), repeat=num_axes):
        sbps = [one for signature in row for one in signature.outputs + signature.inputs]
        kinds = {one.op for one in sbps if isinstance(one, Partial)}
        if len(kinds) <= 1:
            inputs = tuple(zip(*(signature.inputs for signature in row), strict=True))
            rows.append(Signature(inputs, tuple(zip(*(signature.outputs for signature in row), strict=True))))
    return tuple(rows)


def _where(name, dims, otherwise):
    return Split(dims.index(name)) if name in dims else otherwise


@lru_cache(maxsize=1024)
def _factors(text):
    if text.count("->") != 1:
        raise ValueError(f'{text!r} is no rule; write it as "m k, k n -> m n"')
    inputs, outputs = (tuple(tuple(part.split()) for part in side.split(",")) for side in text.split("->"))
    for name in (name for dims in inputs + outputs for name in dims):
        if not (name in ("...", "1") or name.isidentifier()):
            raise ValueError(f"{name!r} in {text!r} is no factor; a factor is a word, ... or 1")
    return inputs, outputs


def _text(sbp):
    return str(sbp) if isinstance(sbp, Sbp) else f"({', '.join(map(str, sbp))})"
