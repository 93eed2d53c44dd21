"""Generators: where the seed and the number of the next random call are kept; and the functions that draw from one."""

from flow_core.dtype import float32
from flow_core.ops import random as ops
from flow_core.ops.creation import sizes


class Generator:
    """A seed and the number of calls drawn from it so far. Two generators in the same state draw the same numbers."""

    def __init__(self, seed=0):
        self.manual_seed(seed)

    def manual_seed(self, seed):
        """Starts anew from `seed`, an int in [0, 2^64); returns the generator."""
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
            raise ValueError(f"seed {seed!r} is not an int in [0, 2^64)")
        self.seed, self.calls = seed, 0
        return self

    def next_call(self):
        """(seed, number of this call): what a random op takes."""
        self.calls += 1
        return self.seed, self.calls - 1

    def get_state(self):
        """The state as a dict of ints."""
        return {"seed": self.seed, "calls": self.calls}

    def set_state(self, state):
        """Continues from a state that get_state returned."""
        self.manual_seed(state["seed"])
        self.calls = int(state["calls"])


default_generator = Generator()


def manual_seed(seed):
    """Seeds the default generator, which is returned."""
    return default_generator.manual_seed(seed)


def rand(*shape, dtype=float32, device=None, generator=None):
    """Uniform numbers in [0, 1)."""
    return ops.uniform(*(generator or default_generator).next_call(), shape=sizes(shape), dtype=dtype, device=device)


def randn(*shape, dtype=float32, device=None, generator=None):
    """Numbers of the standard normal distribution."""
    return ops.normal(*(generator or default_generator).next_call(), shape=sizes(shape), dtype=dtype, device=device)


def randint(low, high, shape, *, device=None, generator=None):
    """int64 numbers in [low, high)."""
    return ops.integers(
        *(generator or default_generator).next_call(), shape=tuple(shape), low=low, high=high, device=device
    )


def dropout(x, p=0.5, training=True, *, generator=None):
    """x with each element set to 0 with probability p and the rest divided by 1 - p; x itself if not `training` or p is 0."""
    if not training or p == 0:
        return x
    return ops.dropout_mask(x, *(generator or default_generator).next_call(), p=p)
