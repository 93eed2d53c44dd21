"""DLPack capsules of numpy arrays and back, without a copy; numpy's own, and bfloat16, which numpy does not know.

A bfloat16 array travels as its 16-bit words: its capsule differs from theirs in one byte, the code of the element type
(DLPack's dlpack.h: DLDataType.code, in the DLTensor that stands first in a DLManagedTensor, and behind the version, the manager's two
pointers and the flags in a DLManagedTensorVersioned).
"""

import ctypes

import ml_dtypes
import numpy as np

CPU = (1, 0)  # kDLCPU, and its only device
UNSIGNED, BFLOAT = 1, 4  # kDLUInt, kDLBfloat
# Where the code of the element type stands in a capsule of each name: behind data, device and ndim.
CODE_AT = {b"dltensor": 8 + 8 + 4, b"dltensor_versioned": 32 + 8 + 8 + 4}

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
is_named = ctypes.pythonapi.PyCapsule_IsValid
is_named.restype, is_named.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def exported(array, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule of an array's memory, shared unless copy is True; an array that runs backwards is copied, for torch ends the process at a
    negative stride. BufferError for what a capsule of that version cannot say, as read-only memory before version 1."""
    if stream is not None:
        raise ValueError(f"__dlpack__: stream is {stream!r}, expected None for memory of the CPU")
    if dl_device is not None and tuple(dl_device) != CPU:
        raise BufferError(f"__dlpack__: dl_device is {dl_device}, and the memory is the CPU's, {CPU}")
    if any(step < 0 for step in array.strides):
        if copy is False:
            raise BufferError(
                f"__dlpack__: strides {array.strides} run backwards, and copy=False forbids the copy that it takes"
            )
        array = array.copy()
    if array.dtype == ml_dtypes.bfloat16:
        return with_code(exported(array.view(np.uint16), None, max_version, dl_device, copy), BFLOAT)
    return array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


def imported(x, copy=None):
    """An array of the memory of an object with __dlpack__, on the CPU. Memory that it may not write, or from a capsule of before
    version 1, which cannot tell, is read-only. BufferError, or what the object itself raises, where it cannot be had."""
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: a {type(x).__module__}.{type(x).__qualname__} has no __dlpack__")
    kind, index = x.__dlpack_device__()
    if int(kind) != CPU[0]:
        raise BufferError(
            f"from_dlpack: the memory is of DLPack device ({int(kind)}, {index}), not the CPU's; move it first"
        )
    door = Door(x)
    array = np.from_dlpack(door, copy=copy)
    return array.view(ml_dtypes.bfloat16) if door.was_bfloat else array


class Door:
    """An object as numpy may take it: its bfloat16 as words of 16 bits."""

    def __init__(self, x):
        self.x = x
        self.was_bfloat = False

    def __dlpack_device__(self):
        return CPU

    def __dlpack__(self, **options):
        try:
            capsule = self.x.__dlpack__(**options)
        except TypeError:  # of before version 1, which had no such arguments
            if options.get("copy"):
                raise
            capsule = self.x.__dlpack__()
        if code(capsule).value == BFLOAT:
            self.was_bfloat = True
            return with_code(capsule, UNSIGNED)
        return capsule


def code(capsule):
    """The code of the element type in a capsule, as a byte to read or to write."""
    name = next((name for name in CODE_AT if is_named(capsule, name)), None)
    if name is None:
        raise BufferError("from_dlpack: __dlpack__ returned no capsule of a tensor, or one that was used before")
    return ctypes.c_uint8.from_address(pointer_of(capsule, name) + CODE_AT[name])


def with_code(capsule, value):
    """The capsule with another code of the element type."""
    code(capsule).value = value
    return capsule
