"""The oracle's cases of ops: read from ops.xz, turned into calls, and judged. Knows no framework but through an adapter."""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

DATA = Path(__file__).parent / "ops.xz"


class Entry(NamedTuple):
    """One op in one variant: its cases, the calls that must raise, and the arrays that both name."""

    file: str
    name: str
    tags: list
    cases: list
    errors: list
    arrays: dict


@cache
def entries():
    """All entries by name: a length in 8 bytes, JSON of that length, and the memory that the arrays' (dtype, shape, start) lie in."""
    data = lzma.decompress(DATA.read_bytes())
    end = 8 + int.from_bytes(data[:8], "little")
    memory = memoryview(data)[end:]

    def array(dtype, shape, start):
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(memory, dtype, count, start).reshape(shape) if count else np.zeros(shape, dtype)

    found = {}
    for record in json.loads(data[8:end]):
        arrays = {key: array(*place) for key, place in record["arrays"].items()}
        found[record["file"]] = Entry(
            record["file"], record["name"], record["tags"], record["cases"], record["errors"], arrays
        )
    return found


def decode(value, arrays, make, dtype):
    """A value of a case: arrays through make(array, whether it needs a gradient), dtypes through dtype(name)."""
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))

    def inner(v):
        return decode(v, arrays, make, dtype)

    if kind == "a":
        return make(arrays[content], bool(value.get("rg")))
    if kind == "d":
        return {name: inner(v) for name, v in content.items()}
    sequences = {"l": list, "u": tuple, "s": lambda items: slice(*items)}
    if kind in sequences:
        return sequences[kind]([inner(v) for v in content])
    scalars = {"f": float, "c": lambda parts: complex(*map(float, parts)), "dt": dtype, "e": lambda _: Ellipsis}
    return scalars[kind](content)


def named_arrays(value):
    """The names of the arrays in an encoded value, in order."""
    if isinstance(value, list):
        return [name for v in value for name in named_arrays(v)]
    if not isinstance(value, dict):
        return []
    if "a" in value:
        return [value["a"]]
    (content,) = (value[kind] for kind in value if kind in "luds") if set(value) & set("luds") else ([],)
    return named_arrays(list(content.values()) if isinstance(content, dict) else content)


def flattened(value):
    """What nested dicts, lists and tuples hold."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for v in value for leaf in flattened(v)] if isinstance(value, (list, tuple)) else [value]


def cotangent(shape, k):
    """The fixed gradient of output k."""
    i = np.arange(int(np.prod(shape, dtype=np.int64))) + 13 * k
    return ((((7 * i + 3) % 11) - 5) / 5.0).reshape(shape)


def call(adapter, function, case, arrays, make):
    """A spelling of the op on the case's arguments."""
    args = [decode(v, arrays, make, adapter.dtype) for v in case["args"]]
    kwargs = {name: decode(v, arrays, make, adapter.dtype) for name, v in case["kwargs"].items()}
    return function(*args, **kwargs)


def difference(found, wanted, error, loose=1):
    """What is wrong with an array; None if nothing is. `error` is how far PyTorch in float32 was from itself in float64."""
    found = np.asarray(found)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "biu":
        return None if np.array_equal(found, wanted) else f"{found} is not {wanted}"
    single = wanted.dtype in (np.float32, np.complex64)
    tolerance = loose * (max(2e-5, 20 * (error or 0)) if single else 1e-9)
    with np.errstate(all="ignore"):
        right = np.isclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
        return None if right.all() else f"off by {np.nanmax(np.abs(found - wanted))}, beyond {tolerance}"


def wrong_with(adapter, entry, case):
    """What is wrong with a case in each of its spellings, by spelling; empty if one is right."""
    spellings = list(adapter.resolve(entry.name, case["how"]))
    if not spellings:
        return ["it has no such name"]
    found = []
    for function in spellings:
        try:
            wrong = wrong_with_spelling(adapter, function, entry, case)
        except Exception as e:
            wrong = f"{type(e).__name__}: {e}"
        if wrong is None:
            return []
        found.append(wrong)
    return found


def wrong_with_spelling(adapter, function, entry, case):
    """What is wrong with the values, or else with the gradients; None if nothing is."""
    adapter.seed(1)
    leaves, wants_grad = [], "grad" in case

    def make(array, needs_grad):
        t = adapter.tensor(array.copy(), needs_grad and wants_grad)
        if needs_grad:
            leaves.append(t)
        return t

    out = call(adapter, function, case, entry.arrays, make)
    outs = [o for o in flattened(out) if adapter.is_tensor(o)]
    if case.get("nondet"):
        specs = [[list(o.shape), str(adapter.numpy(o).dtype)] for o in outs]
        return None if specs == case["out_spec"] else f"{specs}, expected {case['out_spec']}"
    names = named_arrays(case["out"])
    if not names:
        wanted = decode(case["out"], entry.arrays, lambda a, _: a, str)
        out = adapter.numpy(out).item() if adapter.is_tensor(out) else out
        same = out == wanted or (isinstance(wanted, float) and abs(out - wanted) <= 1e-5 * (1 + abs(wanted)))
        return None if same or (out != out and wanted != wanted) else f"{out!r}, expected {wanted!r}"
    if len(outs) != len(names):
        return f"{len(outs)} tensors, expected {len(names)}"
    wanted = [entry.arrays[name] for name in names]
    for o, w in zip(outs, wanted, strict=True):
        wrong = difference(adapter.numpy(o), w, case.get("f64err"))
        if wrong:
            return wrong
    if not wants_grad:
        return None
    adapter.backward([outs[i] for i in case["grad_of"]], [cotangent(wanted[i].shape, i) for i in case["grad_of"]])
    for i, (leaf, node) in enumerate(zip(leaves, case["grad"], strict=True)):
        g, w = adapter.grad(leaf), None if node is None else entry.arrays[node["a"]]
        if g is None or w is None:  # no gradient, or one of zeros: the same
            wrong = None if not np.any(g if w is None else w) else f"{g} is not {w}"
        else:
            wrong = difference(g, w, case.get("f64err"), loose=20)
        if wrong:
            return f"gradient {i}: {wrong}"
    return None


def raises(adapter, entry, case):
    """Whether each spelling of a call that must raise does."""

    def make(array, _):
        return adapter.tensor(array.copy())

    for function in adapter.resolve(entry.name, case["how"]):
        try:
            call(adapter, function, case, entry.arrays, make)
        except (ValueError, TypeError, IndexError, ArithmeticError):
            continue
        except AttributeError:  # a method of what is no tensor is refused by Python
            if not adapter.is_tensor(decode(case["args"][0], entry.arrays, make, adapter.dtype)):
                continue
            raise
        return False
    return True
