"""No input crashes, hangs or surprises: every public function and method either returns or raises an error of the public kind."""

import inspect
import random
import resource
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

import flow_core as flow
import flow_core.signal
from flow_core.testing.draw import NIGHTLY

CALLS_EACH = 400 if NIGHTLY else 12
SPARE = 2**31  # bytes
SECONDS = 20  # for one call: what takes longer counts as a hang
PUBLIC = (ValueError, TypeError, IndexError, MemoryError)
DTYPES = [flow.float32, flow.float64, flow.int64, flow.bool, flow.bfloat16, flow.float16, flow.uint8, flow.int8]
DTYPES += [flow.int32, flow.uint64, flow.complex64, flow.complex128, flow.int16, flow.uint16, flow.uint32]
SHAPES = [(), (0,), (1,), (2,), (3,), (2, 2), (3, 2), (2, 0), (0, 3), (1, 1, 1), (2, 3, 3), (4, 1, 2), (2, 1, 2, 2)]
THINGS = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    2**62,
    -(2**70),
    1.5,
    -0.5,
    float("nan"),
    float("inf"),
    True,
    False,
    1j,
    None,
    "x",
    "mean",
]
THINGS += [
    [],
    (),
    [0],
    (1, 2),
    (-1,),
    (0, 1),
    [[0, 1], [1, 0]],
    slice(None),
    Ellipsis,
    flow.float32,
    flow.bool,
    "float32",
]
THINGS += [np.float32(2), np.int64(1), object(), b"x", {}]
MODULES = {
    "": flow,
    "linalg.": flow.linalg,
    "fft.": flow.fft,
    "special.": flow.special,
    "masked.": flow.masked,
    "windows.": flow_core.signal.windows,
}
# They write files, reseed, or are for those who write tensor-like classes.
LEFT_OUT = {"save", "load", "seed", "attach", "promote", "define"}


def targets():
    """The public functions and the methods of Tensor by name."""
    found = {}
    for prefix, module in MODULES.items():
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and name not in LEFT_OUT and callable(value) and not inspect.isclass(value):
                found[prefix + name] = value
    for name in dir(flow.Tensor):
        method = getattr(flow.Tensor, name)
        if (
            callable(method)
            and not inspect.isclass(method)
            and (name[0] != "_" or name in ("__getitem__", "__setitem__"))
        ):
            found[f"Tensor.{name}"] = method
    return found


TARGETS = targets()


class Draw:
    """Arguments drawn at random, the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def tensor(self):
        dtype = self.random.choice(DTYPES[:5] if self.random.random() < 0.7 else DTYPES)
        shape = self.random.choice(SHAPES)
        a = np.random.default_rng(self.random.randrange(10**6)).integers(-2, 3, shape)
        a = np.asarray(abs(a) % 2 if dtype is flow.int64 and self.random.random() < 0.5 else a).astype(dtype)
        if a.size and self.random.random() < 0.4:
            info = np.iinfo(dtype) if dtype.kind in "iu" else None
            extreme = [info.max, info.min] if info else [np.nan, np.inf, -np.inf, 6e4]
            a.reshape(-1)[self.random.randrange(a.size)] = self.random.choice(extreme) if dtype.kind != "b" else True
        return flow.from_numpy(a)

    def thing(self):
        chance = self.random.random()
        if chance < 0.45:
            return self.tensor()
        return [self.tensor() for _ in range(self.random.randrange(3))] if chance < 0.5 else self.random.choice(THINGS)

    def call(self, name, function):
        """(args, kwargs) that fit the function's signature by number and name, but hardly otherwise."""
        parameters = list(inspect.signature(function).parameters.values())
        places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        least = sum(p.default is p.empty for p in places)
        count = self.random.randint(least, max(least, min(len(places), least + 2)))
        count += self.random.randrange(3) if any(p.kind is p.VAR_POSITIONAL for p in parameters) else 0
        args = [self.tensor() if i == 0 and self.random.random() < 0.75 else self.thing() for i in range(count)]
        if name.startswith("Tensor."):
            args[:1] = [self.tensor()]
        kwargs = {}
        for p in parameters:
            named = p.kind is p.KEYWORD_ONLY or (p in places and places.index(p) >= len(args))
            if named and self.random.random() < (0.9 if p.default is p.empty else 0.15):
                kwargs[p.name] = self.thing()
        return args, kwargs


class Hang(Exception):
    """A call took too long."""


def give_up(signum, frame):
    raise Hang(f"no answer in {SECONDS} s")


@pytest.fixture(autouse=True)
def watchdog():
    """Calls that take too long raise Hang; those that want more memory than the limit get a MemoryError, as on a full machine."""
    before = signal.signal(signal.SIGALRM, give_up)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SPARE, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_call_returns_or_raises_an_error_of_the_public_kind(name):
    function, draw = TARGETS[name], Draw(name)
    for _ in range(CALLS_EACH):
        args, kwargs = draw.call(name, function)
        error = None
        signal.alarm(SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*args, **kwargs)
        except Exception as e:
            error = e
        finally:
            signal.alarm(0)
        said = f"{name}(*{[getattr(a, 'spec', a) for a in args]}, **{kwargs}) raised {type(error).__name__}: {error}"
        assert error is None or (isinstance(error, PUBLIC) and str(error)), said
