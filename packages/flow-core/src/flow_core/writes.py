"""Writes in place, counted by the memory they go to: how a backward pass learns that what it saved is no more.

Views, detached tensors and the tensor itself share a memory, and so one count. A saved tensor costs nothing but the reading of `clock`;
what writes pay for.
"""

import weakref

import numpy as np


class Clock:
    """`time` is the number of writes so far."""

    time = 0


clock = Clock()
memories = {}  # id of an array that owns memory -> [weak reference to it, time of the last write, number of writes]


def owner(array):
    """The array that `array` is a view of, at the end of the chain."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def wrote(array):
    """Counts a write to the memory of an array."""
    array = owner(array)
    clock.time += 1
    entry = memories.get(id(array))
    if entry is None:
        key = id(array)
        memories[key] = [weakref.ref(array, lambda _: memories.pop(key, None)), clock.time, 1]
    else:
        entry[1] = clock.time
        entry[2] += 1


def last_write(array):
    """When the memory of an array was written last; 0 for never."""
    entry = memories.get(id(owner(array)))
    return 0 if entry is None else entry[1]


def num_writes(array):
    """How often the memory of an array has been written in place."""
    entry = memories.get(id(owner(array)))
    return 0 if entry is None else entry[2]
