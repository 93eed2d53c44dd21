"""Random tensors of a size or like another: uniform and normal numbers, integers and orders."""

import math

import numpy as np

from flow_core.dtype import CATEGORIES, as_dtype, float32, float64, int64
from flow_core.functions.creation import check_options
from flow_core.ops import elementwise
from flow_core.ops import random as ops
from flow_core.ops.along import argsort
from flow_core.ops.complex import PARTS, view_as_complex
from flow_core.ops.creation import full_as, sizes
from flow_core.random import next_call
from flow_core.spec import as_count, as_shape, broadcast_shapes


def drawn(op, shape, dtype, device, generator, **attrs):
    """Numbers of a float dtype, or of a complex one: pairs of them."""
    dtype = float32 if dtype is None else as_dtype(dtype)
    call = next_call(generator)
    if dtype in PARTS:
        return view_as_complex(op(*call, shape=(*shape, 2), dtype=PARTS[dtype], device=device, **attrs))
    return op(*call, shape=shape, dtype=dtype, device=device, **attrs)


def rand(*size, dtype=None, device=None, requires_grad=False, generator=None, **options):
    """Uniform numbers in [0, 1), of a size given as ints or as one sequence; of a complex dtype, both parts are."""
    size = given_size("rand", size, options)
    return drawn(ops.uniform, size, dtype, device, generator).requires_grad_(requires_grad)


def randn(*size, dtype=None, device=None, requires_grad=False, generator=None, **options):
    """Numbers of the standard normal distribution; of a complex dtype, the parts have variance 1/2 each."""
    size = given_size("randn", size, options)
    return gauss(size, dtype, device, generator).requires_grad_(requires_grad)


def gauss(shape, dtype, device, generator, mean=0.0, std=1.0):
    """Normal numbers; complex ones have the variance std^2, half of it in either part."""
    pair = dtype is not None and as_dtype(dtype) in PARTS
    return drawn(ops.normal, shape, dtype, device, generator, mean=mean, std=std * math.sqrt(0.5) if pair else std)


def given_size(name, size, options):
    """The shape that a call gives as ints, as one sequence, or by name."""
    if "size" in options:
        size = (options.pop("size"),)
    check_options(name, options)
    return as_shape(name, sizes(size))


def rand_like(x, *, dtype=None, device=None, requires_grad=False, generator=None, **options):
    """As rand, of x's shape, and of its dtype unless another is given."""
    dtype = x.dtype if dtype is None else dtype
    return rand(x.shape, dtype=dtype, device=device, requires_grad=requires_grad, generator=generator, **options)


def randn_like(x, *, dtype=None, device=None, requires_grad=False, generator=None, **options):
    """As randn, of x's shape, and of its dtype unless another is given."""
    dtype = x.dtype if dtype is None else dtype
    return randn(x.shape, dtype=dtype, device=device, requires_grad=requires_grad, generator=generator, **options)


def randint(*bounds, low=None, high=None, size=None, dtype=None, device=None, requires_grad=False, generator=None,
            **options):  # fmt: skip
    """Integers drawn evenly from [low, high): randint(high, size) or randint(low, high, size). int64 unless `dtype` says otherwise."""
    check_options("randint", options)
    bounds = list(bounds)
    if size is None:
        if not bounds or not isinstance(bounds[-1], (tuple, list)):
            raise TypeError("randint: the size is missing: randint(low, high, size)")
        size = bounds.pop()
    named = [v for v in (low, high) if v is not None]
    if len(bounds) + len(named) not in (1, 2) or (low is not None and len(bounds) + len(named) < 2):
        raise TypeError("randint: give high, or low and high, and a size")
    if low is not None:
        bounds = [low, *bounds, *named[1:]]
    else:
        bounds += named
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    size = as_shape("randint", size)
    out = ops.integers(*next_call(generator), shape=size, low=low, high=high, device=device)
    return in_dtype("randint", out, dtype, low, high).requires_grad_(requires_grad)


def in_dtype(name, out, dtype, low, high):
    """int64 numbers from [low, high) in another dtype; ValueError if it cannot hold them."""
    dtype = int64 if dtype is None else as_dtype(dtype)
    if CATEGORIES[dtype] == 3:
        raise TypeError(f"{name}: dtype {dtype} is complex")
    least, most = (0, 1) if CATEGORIES[dtype] == 0 else (None, None)
    if CATEGORIES[dtype] == 1:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if least is not None and not least <= low <= high - 1 <= most:
        raise ValueError(f"{name}: numbers from {low} to {high - 1} do not fit in {dtype}")
    return out if dtype is int64 else elementwise.cast(out, dtype=dtype)


def randint_like(x, *bounds, low=None, high=None, dtype=None, device=None, requires_grad=False, generator=None,
                 **options):  # fmt: skip
    """As randint, of x's shape, and of its dtype unless another is given."""
    dtype = x.dtype if dtype is None else dtype
    return randint(
        *bounds, low=low, high=high, size=x.shape, dtype=dtype, device=device, requires_grad=requires_grad,
        generator=generator, **options,
    )  # fmt: skip


def randperm(n, *, dtype=None, device=None, requires_grad=False, generator=None, **options):
    """The numbers 0 to n - 1 in a random order, every order as likely. int64 unless `dtype` says otherwise."""
    check_options("randperm", options)
    n = as_count("randperm", "n", n)
    keys = ops.integers(*next_call(generator), shape=(n,), low=-(2**63), high=2**63, device=device)
    order = argsort(keys, dim=0)  # two of the 64-bit keys are equal with probability n^2 / 2^65
    return in_dtype("randperm", order, dtype, 0, max(n, 1)).requires_grad_(requires_grad)


def normal(mean=0.0, std=1.0, size=None, *, dtype=None, device=None, requires_grad=False, generator=None, **options):
    """Normally distributed numbers. `mean` and `std` are numbers, with a `size`, or one of them or both tensors, which broadcast."""
    check_options("normal", options)
    parts = [t for t in (mean, std) if hasattr(t, "spec")]
    if not parts:
        if size is None:
            raise TypeError("normal: of a number mean and std, the size is needed: normal(mean, std, size)")
        if not std >= 0:
            raise ValueError(f"normal: std {std} is not 0 or more")
        size = as_shape("normal", size)
        return gauss(size, dtype, device, generator, float(mean), float(std)).requires_grad_(requires_grad)
    if size is not None:
        raise TypeError("normal: the size is that of the tensors mean and std")
    if any(CATEGORIES[t.dtype] != 2 for t in parts):
        raise TypeError(f"normal: {' and '.join(str(t.spec) for t in parts)} are not of a float type")
    if not (bool((std.data >= 0).all()) if hasattr(std, "spec") else std >= 0):
        raise ValueError("normal: std has elements that are not 0 or more")
    total = parts[0] if len(parts) == 1 else elementwise.add(*parts)
    shape = broadcast_shapes("normal", *[t.shape for t in parts])
    z = gauss(shape, total.dtype, device, generator)
    return flat(elementwise.add(elementwise.mul(z, detached(std)), detached(mean)), *parts)


def detached(x):
    return x.detach() if hasattr(x, "spec") else x


def flat(out, *tensors):
    """`out`, on the graph of the tensors that it was drawn by, to which its gradient is 0."""
    for t in tensors:
        if t.requires_grad:
            never = full_as(out.detach(), fill_value=False, dtype=bool)
            out = elementwise.where(never, t if t.dtype is out.dtype else t.to(out.dtype), out)
    return out


def unit(shape, generator):
    """Uniform float64 numbers in [0, 1), of which the distributions are made, as an array."""
    return ops.uniform(*next_call(generator), shape=shape, dtype=float64).data


# The names that flow_core takes over.
__all__ = "rand randn rand_like randn_like randint randint_like randperm normal".split()
