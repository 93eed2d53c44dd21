"""Generators: where the seed and the number of the next random call are kept; and the functions that draw from one."""

import secrets

from flow_core.device import CPU, as_device
from flow_core.ops import random as ops
from flow_core.spec import as_count


class Generator:
    """A seed and the number of calls drawn from it so far. Two generators in the same state draw the same numbers."""

    def __init__(self, seed=0, *, device=None):
        if seed is CPU or seed == "cpu":  # as PyTorch's Generator("cpu")
            seed, device = 0, seed
        self.device = as_device(device)
        self.manual_seed(seed)

    def manual_seed(self, seed):
        """Starts anew from `seed`, an int in [0, 2^64); returns the generator."""
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
            raise ValueError(f"seed {seed!r} is not an int in [0, 2^64)")
        self.start, self.calls = seed, 0
        return self

    def seed(self):
        """Starts anew from a seed that the operating system draws, which is returned."""
        return self.manual_seed(secrets.randbits(64)).start

    def initial_seed(self):
        """The seed that it started from last."""
        return self.start

    def next_call(self):
        """(seed, number of this call): what a random op takes."""
        self.calls += 1
        return self.start, self.calls - 1

    def get_state(self):
        """The state as a dict of ints."""
        return {"seed": self.start, "calls": self.calls}

    def set_state(self, state):
        """Continues from a state that get_state returned; returns the generator."""
        self.manual_seed(state["seed"])
        self.calls = as_count("set_state", "calls", state["calls"])
        return self

    def clone_state(self):
        """Another generator in the same state."""
        return Generator().set_state(self.get_state())


default_generator = Generator()


def manual_seed(seed):
    """Seeds the default generator, which is returned."""
    return default_generator.manual_seed(seed)


def seed():
    """Seeds the default generator with a number from the operating system, which is returned."""
    return default_generator.seed()


def initial_seed():
    """The seed that the default generator started from last."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(state):
    """Sets the default generator to a state that get_rng_state returned."""
    default_generator.set_state(state)


def next_call(generator):
    """(seed, number of the call) of a generator, or of the default one."""
    if generator is None:
        generator = default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"generator is a {type(generator).__name__}, expected a flow.Generator or None")
    return generator.next_call()


def dropout(x, p=0.5, training=True, *, generator=None):
    """x with each element set to 0 with probability p and the rest divided by 1 - p; x itself if not `training` or p is 0."""
    if not training or p == 0:
        return x
    return ops.dropout_mask(x, *next_call(generator), p=p)


# The names that flow_core takes over.
__all__ = """Generator default_generator manual_seed seed initial_seed get_rng_state set_rng_state dropout""".split()
