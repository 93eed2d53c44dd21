"""What a message holds: a tree of lists, tuples, dicts and plain values with numpy arrays as its leaves.

`pack` splits it into a description (JSON) and the arrays' bytes, `unpack` puts it together again. Nothing is pickled,
and each message describes itself, so shapes may change from one to the next.
"""

import json
from typing import Any

import numpy as np


def pack(value: Any) -> tuple[bytes, list[np.ndarray]]:
    """`(description, buffers)`: a buffer is the flat uint8 view of one array (a copy if that is not C-contiguous).

    `value` is an array, None, a bool, int, float or str, or a list, tuple or dict (keys: str) of such. A numpy scalar
    comes out as a 0-d array. TypeError for anything else, and for dtypes without a name (object, structured).
    """
    arrays: list[np.ndarray] = []
    tree = _describe(value, arrays)
    leaves = [[_dtype_name(array.dtype), array.shape] for array in arrays]
    buffers = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
    return json.dumps([tree, leaves], separators=(",", ":")).encode(), buffers


def unpack(description: bytes) -> tuple[Any, list[np.ndarray]]:
    """`(value, buffers)`: the tree with new arrays in it, and their flat uint8 views, to be written by who receives.

    TypeError if a dtype's name is not known here: those of ml_dtypes are, once ml_dtypes is imported.
    """
    tree, leaves = json.loads(description)
    arrays = [np.empty(shape, _dtype(name)) for name, shape in leaves]
    return _rebuild(tree, iter(arrays)), [array.reshape(-1).view(np.uint8) for array in arrays]


def _describe(value: Any, arrays: list[np.ndarray]) -> Any:
    """JSON for `value`; a list is a node: ["a"] the next array, ["l" | "t", items], ["d", keys, values]."""
    match value:
        case np.ndarray() | np.generic():
            arrays.append(np.asarray(value))
            return ["a"]
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return ["l" if isinstance(value, list) else "t", [_describe(item, arrays) for item in value]]
        case dict() if all(isinstance(key, str) for key in value):
            return ["d", list(value), [_describe(item, arrays) for item in value.values()]]
    raise TypeError(
        f"a message holds numpy arrays, None, bool, int, float, str, and lists, tuples and dicts (keys: str) of these; "
        f"got a {type(value).__name__}"
    )


def _rebuild(node: Any, arrays) -> Any:
    match node:
        case ["a"]:
            return next(arrays)
        case ["l", items]:
            return [_rebuild(item, arrays) for item in items]
        case ["t", items]:
            return tuple(_rebuild(item, arrays) for item in items)
        case ["d", keys, values]:
            return {key: _rebuild(item, arrays) for key, item in zip(keys, values, strict=True)}
    return node


def _dtype_name(dtype: np.dtype) -> str:
    """A name that leads back to `dtype`: numpy's own code ("<f4"), or what another library calls it ("bfloat16")."""
    if not dtype.hasobject:
        for name in (dtype.str, dtype.name):
            try:
                if np.dtype(name) == dtype:
                    return name
            except TypeError:
                continue
    raise TypeError(f"arrays of dtype {dtype} cannot be sent: it has no name that the other side would know")


def _dtype(name: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(
            f"a message holds an array of dtype {name!r}, unknown here: import ml_dtypes, if it is one of its"
        ) from None
