"""The safetensors format: a JSON header of names, types, shapes and places, and then the tensors' bytes, nothing between them.

https://github.com/huggingface/safetensors#format. A file is read only if it is exactly what its header says.
"""

import json

import ml_dtypes
import numpy as np

# The format's names of the element types.
DTYPES = {
    "BOOL": "bool", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "I8": "int8", "I16": "int16", "I32": "int32",
    "I64": "int64", "F16": "float16", "BF16": ml_dtypes.bfloat16, "F32": "float32", "F64": "float64", "C64": "complex64",
}  # fmt: skip
DTYPES = {name: np.dtype(dtype) for name, dtype in DTYPES.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "C64"}  # new in the format: not every reader has it
LONGEST_HEADER = 100_000_000  # the format's own bound


def write(file, arrays, metadata):
    """Writes arrays by name, and metadata (strings by string), to a file."""
    # The widest elements first: so each begins at a multiple of its size, as readers that map the file into memory like it.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header, end = {"__metadata__": metadata} if metadata else {}, 0
    for name in order:
        a = arrays[name]
        start, end = end, end + a.nbytes
        header[name] = {"dtype": NAMES[a.dtype], "shape": list(a.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.write(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8))


def read(file):
    """(arrays by name, metadata) of a file that can be sought; the arrays own their memory. ValueError if it is not one, or not whole."""
    size = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, LONGEST_HEADER):
        raise ValueError(f"{size} bytes do not hold a header of {length}")
    header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("the header is not a JSON object")
    metadata = header.pop("__metadata__", None) or {}
    places = [(*entry["data_offsets"], name) for name, entry in header.items()]
    arrays, at = {}, 0
    for start, end, name in sorted(places):
        dtype, shape = DTYPES[header[name]["dtype"]], tuple(header[name]["shape"])
        if any(type(n) is not int or n < 0 for n in (*shape, start, end)):
            raise ValueError(f"{name!r} has shape {shape} and bytes {start} to {end}")
        count = 1
        for n in shape:
            count *= n
        if start != at or end - start != count * dtype.itemsize or 8 + length + end > size:
            raise ValueError(
                f"{name!r} of {dtype} and shape {shape} cannot be the bytes {start} to {end} of {size - 8 - length}"
            )
        memory = np.empty(end - start, np.uint8)
        if file.readinto(memory) != end - start:
            raise ValueError(f"the bytes of {name!r} end too early")
        arrays[name], at = memory.view(dtype).reshape(shape), end
    if 8 + length + at != size:
        raise ValueError(f"{size - 8 - length - at} bytes belong to no tensor")
    return {name: arrays[name] for name in header}, metadata
