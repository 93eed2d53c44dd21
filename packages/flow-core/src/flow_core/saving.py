"""Saving tensors to a file, and loading them: safetensors files, which other tools read, and in which no code can hide.

A dict of tensors is written under its own names. What else it is (a tensor alone, nested dicts and lists, numbers among them) stands as
JSON in the file's metadata; complex tensors, which the format lacks, are pairs of floats in a last dim of 2, and their names stand there.
"""

import io
import json
import os
import uuid
from pathlib import Path

import numpy as np

from flow_core import safetensors
from flow_core.dtype import complex64, complex128, float32, float64
from flow_core.tensor import Tensor, from_numpy

STRUCTURE, COMPLEX = "flow.structure", "flow.complex"  # keys of the metadata
PARTS = {complex64: float32, complex128: float64}
PLAIN = (type(None), bool, int, float, str)


def save(file, tensors):
    """Writes a tensor, or dicts, lists and tuples of tensors, nested as you like, to a path or to a file open for writing bytes.

    Beside tensors they may hold None, bools, numbers and strings; keys are strings or ints. A path holds the whole file or what it held
    before, whenever the writing stops. requires_grad is not saved. TypeError, naming the place, for anything else.
    """
    arrays = {}
    structure = outline(tensors, (), arrays)
    metadata = {} if is_flat(structure) else {STRUCTURE: json.dumps(structure)}
    if pairs := [name for name, a in arrays.items() if a.dtype in PARTS]:
        metadata[COMPLEX] = json.dumps(pairs)
    arrays = {name: as_pairs(a) if a.dtype in PARTS else a for name, a in arrays.items()}
    if hasattr(file, "write"):
        safetensors.write(file, arrays, metadata)
    else:
        write_whole(Path(file), arrays, metadata)


def as_pairs(array):
    """Complex numbers as pairs of floats, in a last dim of 2."""
    return np.ascontiguousarray(array).reshape(-1).view(PARTS[array.dtype]).reshape(*array.shape, 2)


def from_pairs(array):
    """The complex numbers of as_pairs. ValueError for other arrays."""
    dtype = {part: whole for whole, part in PARTS.items()}[array.dtype]
    if array.shape[-1:] != (2,):
        raise ValueError(f"complex numbers as {array.dtype} of shape {array.shape}, expected a last dim of 2")
    return array.reshape(-1).view(dtype).reshape(array.shape[:-1])


def outline(value, path, arrays):
    """What `value` is, as JSON can say it; the tensors in it go to `arrays`, under the names that it tells."""
    if isinstance(value, Tensor):
        name = ".".join(map(str, path)) or "tensor"
        while name in arrays or name == "__metadata__":
            name += "_"
        arrays[name] = value.data
        return {"tensor": name}
    if type(value) in PLAIN:
        return {"plain": value}
    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int):
                raise TypeError(
                    f"save: key {key!r} {place(path)} is a {type(key).__name__}, expected a string or an int"
                )
        return {"dict": [[key, outline(v, (*path, key), arrays)] for key, v in value.items()]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [outline(v, (*path, i), arrays) for i, v in enumerate(value)]}
    raise TypeError(
        f"save: {place(path)} is a {type(value).__name__}, expected a tensor, dict, list, tuple, number or string"
    )


def place(path):
    """Where in what is saved."""
    return "at " + "".join(f"[{key!r}]" for key in path) if path else "what is saved"


def is_flat(structure):
    """True for a dict of tensors under their own names, which a plain file of the format says as well."""
    return "dict" in structure and all(value == {"tensor": key} for key, value in structure["dict"])


def write_whole(path, arrays, metadata):
    """Writes a file under another name, waits until the disk has it, and gives it its name."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with open(partial, "wb") as file:
            safetensors.write(file, arrays, metadata)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def load(file):
    """What `save` wrote to a path, or to a file open for reading bytes; of another's safetensors file the dict of its tensors.

    ValueError, naming the file, if it is not whole or not such a file. Nothing in it is run.
    """
    if not hasattr(file, "read"):
        with open(file, "rb") as opened:
            return read(opened, os.fspath(file))
    return read(io.BytesIO(file.read()), getattr(file, "name", "the file"))


def read(file, name):
    """What an open file holds."""
    try:
        arrays, metadata = safetensors.read(file)
        for key in json.loads(metadata.get(COMPLEX, "[]")):
            arrays[key] = from_pairs(arrays[key])
        tensors = {key: from_numpy(a) for key, a in arrays.items()}
        return rebuilt(json.loads(metadata[STRUCTURE]), tensors) if STRUCTURE in metadata else tensors
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"load: {name} is not a whole safetensors file that flow can read ({error})") from None


def rebuilt(structure, tensors):
    """What an outline tells of."""
    ((kind, value),) = structure.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "plain" and type(value) in PLAIN:
        return value
    if kind == "dict":
        return {key: rebuilt(v, tensors) for key, v in value}
    if kind in ("list", "tuple"):
        items = [rebuilt(v, tensors) for v in value]
        return items if kind == "list" else tuple(items)
    raise ValueError(f"its structure holds {kind!r}, expected tensor, plain, dict, list or tuple")
