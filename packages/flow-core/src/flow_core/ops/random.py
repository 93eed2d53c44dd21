"""Random numbers that depend on the seed, the call's number and an element's global index alone: the same however a tensor is split.

Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The counter is an element's
index over the words of a block and the call's number; the key is the seed.
"""

import math

import numpy as np

from flow_core.device import as_device
from flow_core.dtype import CATEGORIES, as_dtype, bfloat16, category, float16, float32, float64, int64
from flow_core.op import Checked, define
from flow_core.spec import TensorSpec, as_float, as_shape, num_elements

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
NUM_ROUNDS = 10
LOW = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def philox(blocks, call, seed):
    """The four 32-bit words of each block, uint64 arrays of blocks' shape. blocks: uint64 array; call, seed: ints below 2^64."""
    call, seed = int(call), int(seed)  # they may be 0-d arrays
    c0, c1 = blocks & LOW, blocks >> SHIFT
    c2, c3 = np.full_like(blocks, call & 0xFFFFFFFF), np.full_like(blocks, call >> 32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(NUM_ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> SHIFT) ^ c1 ^ np.uint64(k0), p1 & LOW, (p0 >> SHIFT) ^ c3 ^ np.uint64(k1), p0 & LOW
        k0, k1 = (k0 + KEY_STEPS[0]) & 0xFFFFFFFF, (k1 + KEY_STEPS[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3


def words(indices, call, seed, per_element):
    """`per_element` (1, 2 or 4) uint64 arrays of 32-bit words for the elements of the given global indices (a uint64 array)."""
    per_block = np.uint64(4 // per_element)
    blocks, inverse = np.unique(indices // per_block, return_inverse=True)  # an element's neighbours share its block
    block = np.stack(philox(blocks, call, seed), axis=-1)[inverse]  # (elements, 4)
    lane = (indices % per_block).astype(np.intp) * per_element
    return [np.take_along_axis(block, (lane + i)[:, None], axis=1)[:, 0] for i in range(per_element)]


def global_indices(shape, window):
    """The global row-major indices, flat, of a tensor of `shape` that lies at window = (global shape, starts), or that is whole."""
    if window is None:
        return np.arange(num_elements(shape), dtype=np.uint64)
    whole, starts = window
    index = np.zeros((1,) * len(shape), np.uint64)
    for dim, (n, start) in enumerate(zip(shape, starts, strict=True)):
        stride = num_elements(whole[dim + 1 :])
        along = (np.arange(n, dtype=np.uint64) + np.uint64(start)) * np.uint64(stride)
        index = index + along.reshape([-1 if d == dim else 1 for d in range(len(shape))])
    return index.reshape(-1)


# The bits of a word that a uniform number keeps: as many as its type has, or else it would round up to 1.
UNIFORM_BITS = {bfloat16: 8, float16: 11, float32: 24}


def unit(indices, call, seed, dtype):
    """Uniform numbers in [0, 1), exact in `dtype`: 53 bits of two words in float64, the first bits of one word otherwise."""
    if dtype is float64:
        high, low = words(indices, call, seed, 2)
        return ((high >> np.uint64(5)) * 2.0**26 + (low >> np.uint64(6))) * 2.0**-53
    bits = UNIFORM_BITS[dtype]
    return ((words(indices, call, seed, 1)[0] >> np.uint64(32 - bits)) * 2.0**-bits).astype(np.float32)


def uniform_kernel(seed, call, /, *, shape, low, high, dtype, device, window):
    largest = below(high, dtype) if low < high else np.asarray(high, dtype)

    def run(seed, call):
        u = unit(global_indices(shape, window), call, seed, dtype)
        with np.errstate(over="ignore"):
            numbers = (low + (high - low) * u).astype(dtype)
        return np.minimum(numbers, largest, out=numbers).reshape(shape)

    return run


def below(high, dtype):
    """The largest number of `dtype` that is less than `high`, to which a number just below it could round up."""
    nearest = np.asarray(high, dtype)
    return nearest if float(nearest) < high else np.nextafter(nearest, np.asarray(-np.inf, dtype))


def normal_kernel(seed, call, /, *, shape, mean, std, dtype, device, window):
    def run(seed, call):
        indices = global_indices(shape, window)
        w0, w1 = words(indices >> np.uint64(1), call, seed, 2)
        # Box and Muller (1958): a pair of uniforms gives a pair of normals, the even element its cosine, the odd one its sine.
        radius = np.sqrt(-2 * np.log(((w0 >> np.uint64(8)) + 1.0) * 2.0**-24))
        angle = 2 * np.pi * ((w1 >> np.uint64(8)) * 2.0**-24)
        z = radius * np.where(indices % np.uint64(2) == 0, np.cos(angle), np.sin(angle))
        return (mean + std * z).astype(dtype).reshape(shape)

    return run


def random_spec(name, seed, call, shape, dtype, device, window, **attrs):
    """What a random op of a float type infers from the arguments that all of them have."""
    dtype, device, shape = as_dtype(dtype), as_device(device), as_shape(name, shape)
    if CATEGORIES[dtype] != 2:
        raise TypeError(f"{name}: dtype {dtype} is not a float type")
    check_state(name, seed, call)
    attrs |= {"shape": shape, "dtype": dtype, "device": device, "window": as_window(name, window, shape)}
    return Checked(TensorSpec(shape, dtype, device), attrs)


def check_state(name, seed, call):
    """TypeError unless seed and call are ints, or 0-d tensors of them."""
    if any(spec.shape != () or category(spec.dtype) != 1 for spec in (seed, call)):
        raise TypeError(f"{name}: seed {seed} and call {call} must be ints")


def as_window(name, window, shape):
    """`window` with its shape and starts as tuples of ints, or None; ValueError unless a tensor of `shape` lies in it."""
    if window is None:
        return None
    if not isinstance(window, tuple) or len(window) != 2:
        raise TypeError(f"{name}: window {window!r} is not (global shape, starts)")
    whole, starts = as_shape(name, window[0]), as_shape(name, window[1])
    if not len(whole) == len(starts) == len(shape):
        raise ValueError(f"{name}: window {window} and shape {shape} differ in their number of dims")
    if any(start + n > size for start, n, size in zip(starts, shape, whole, strict=True)):
        raise ValueError(f"{name}: shape {shape} at {starts} does not lie in {whole}")
    return whole, starts


@define(uniform_kernel, numbers=(0, 1))
def uniform(seed, call, /, *, shape, low=0.0, high=1.0, dtype=float32, device=None, window=None):
    """Numbers drawn evenly from [low, high), a tensor of `shape`. `window` = (global shape, starts) draws a part of a larger tensor."""
    low, high = as_float("uniform", "low", low), as_float("uniform", "high", high)
    if not low <= high or math.isinf(high - low):
        raise ValueError(f"uniform: low {low} and high {high} are no finite interval")
    return random_spec("uniform", seed, call, shape, dtype, device, window, low=low, high=high)


@define(normal_kernel, numbers=(0, 1))
def normal(seed, call, /, *, shape, mean=0.0, std=1.0, dtype=float32, device=None, window=None):
    """Normally distributed numbers, a tensor of `shape`. `window` = (global shape, starts) draws a part of a larger tensor."""
    mean, std = as_float("normal", "mean", mean), as_float("normal", "std", std)
    if not std >= 0:
        raise ValueError(f"normal: std {std} is negative")
    return random_spec("normal", seed, call, shape, dtype, device, window, mean=mean, std=std)


def integers_kernel(seed, call, /, *, shape, low, high, device, window):
    def run(seed, call):
        high_word, low_word = words(global_indices(shape, window), call, seed, 2)
        word = (high_word << SHIFT) | low_word
        # A 64-bit word modulo the span: for spans below 2^32 no value is more likely than another by over 2^-32 of itself.
        offset = word % np.uint64(high - low) if high - low < 2**64 else word
        return (offset + np.uint64(low % 2**64)).astype(np.int64).reshape(shape)  # modulo 2^64, as int64 counts

    return run


@define(integers_kernel, numbers=(0, 1))
def integers(seed, call, /, *, shape, low=0, high, device=None, window=None):
    """int64 numbers drawn evenly from [low, high), a tensor of `shape`."""
    if type(low) is not int or type(high) is not int:
        raise TypeError(f"integers: low {low!r} and high {high!r} must be ints")
    if not -(2**63) <= low < high <= 2**63:
        raise ValueError(f"integers: low {low} must be below high {high}, and both in the range of int64")
    check_state("integers", seed, call)
    shape, device = as_shape("integers", shape), as_device(device)
    attrs = {"shape": shape, "low": low, "high": high, "device": device, "window": as_window("integers", window, shape)}
    return Checked(TensorSpec(shape, int64, device), attrs)


def dropout_kernel(x, seed, call, /, *, p, window):
    scale = 0.0 if p == 1 else 1 / (1 - p)

    def run(a, seed, call):
        keep = unit(global_indices(a.shape, window), call, seed, float32).reshape(a.shape) >= p
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(keep, a * np.asarray(scale, a.dtype), np.zeros((), a.dtype))

    return run


@define(dropout_kernel, linear=(0,), numbers=(1, 2))
def dropout_mask(x, seed, call, /, *, p, window=None):
    """x / (1 - p) where a uniform number of the element's index is at least p, 0 elsewhere. The same seed and call, the same mask."""
    p = as_float("dropout_mask", "p", p)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout_mask: p is {p}, expected a probability between 0 and 1")
    if CATEGORIES[x.dtype] != 2:
        raise TypeError(f"dropout_mask: {x} is not of a float type")
    check_state("dropout_mask", seed, call)
    return Checked(x, {"p": p, "window": as_window("dropout_mask", window, x.shape)})
