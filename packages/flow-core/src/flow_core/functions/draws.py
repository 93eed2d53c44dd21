"""Random numbers of given distributions: new tensors, and the methods that fill one, from uniform numbers by the inverse of the law.

(Devroye, Non-uniform random variate generation, 1986, chapter II.) Element i depends on the seed, the call and i alone.
"""

import math

import numpy as np
from scipy import special

from flow_core.dtype import CATEGORIES
from flow_core.functions.noise import flat, gauss, in_dtype, unit
from flow_core.ops import complex, elementwise, inplace
from flow_core.ops import random as ops
from flow_core.random import next_call
from flow_core.spec import as_count
from flow_core.tensor import from_numpy

MANTISSA = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def write(name, self, array):
    """Overwrites self with an array, cast to its dtype; returns self."""
    with np.errstate(all="ignore"):
        inplace.copy_(self, from_numpy(np.asarray(array).astype(self.dtype)))
    return self


def require(name, holds, expected, **given):
    """ValueError that says what was given unless `holds`."""
    if not holds:
        raise ValueError(f"{name}: {', '.join(f'{k} is {v}' for k, v in given.items())}, expected {expected}")


def require_float(name, x, also=()):
    if CATEGORIES[x.dtype] != 2 and CATEGORIES[x.dtype] not in also:
        raise TypeError(f"{name}: {x.spec} is not of a float type")


def uniform_(self, low=0.0, high=1.0, *, generator=None, **bounds):
    """Overwrites self with uniform numbers in [low, high) (PyTorch's names `from` and `to` are taken too); returns self."""
    low, high = bounds.pop("from", low), bounds.pop("to", high)
    if bounds:
        raise TypeError(f"uniform_: {', '.join(bounds)} is none of its arguments")
    require_float("uniform_", self, (3,))
    dtype = complex.PARTS.get(self.dtype, self.dtype)
    shape = self.shape if dtype is self.dtype else (*self.shape, 2)
    out = ops.uniform(*next_call(generator), shape=shape, low=low, high=high, dtype=dtype)
    inplace.copy_(self, out if dtype is self.dtype else complex.view_as_complex(out))
    return self


def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Overwrites self with normally distributed numbers; returns self."""
    require_float("normal_", self, (3,))
    require("normal_", std >= 0, "0 or more", std=std)
    inplace.copy_(self, gauss(self.shape, self.dtype, None, generator, float(mean), float(std)))
    return self


def random_(self, *bounds, generator=None, **named):
    """Overwrites self with integers drawn evenly from [from, to): random_(), random_(to) or random_(from, to); returns self.

    Without bounds, from all those from 0 that self's dtype holds exactly.
    """
    if len(bounds) > 2 or set(named) - {"from", "to"}:
        raise TypeError("random_: expected random_(), random_(to) or random_(from, to)")
    if CATEGORIES[self.dtype] == 3:
        raise TypeError(f"random_: {self.spec} holds complex numbers")
    low, high = ((0, *bounds) if len(bounds) == 1 else bounds) or (0, None)
    low, high = named.get("from", low), named.get("to", high)
    if high is None:
        kind = CATEGORIES[self.dtype]
        high = (
            2 if kind == 0 else 2 ** MANTISSA[str(self.dtype)] + 1 if kind == 2 else int(np.iinfo(self.dtype).max) + 1
        )
        high = min(high, 2**63)
    out = ops.integers(*next_call(generator), shape=self.shape, low=low, high=high)
    inplace.copy_(self, in_dtype("random_", out, self.dtype, low, high))
    return self


def exponential_(self, lambd=1.0, *, generator=None):
    """Overwrites self with numbers of density lambd exp(-lambd x), x >= 0; returns self."""
    require_float("exponential_", self)
    require("exponential_", lambd > 0, "a number above 0", lambd=lambd)
    return write("exponential_", self, -np.log1p(-unit(self.shape, generator)) / lambd)


def geometric_(self, p, *, generator=None):
    """Overwrites self with the numbers of the first success of trials that succeed with probability p, from 1; returns self."""
    require("geometric_", 0 < p <= 1, "a probability above 0", p=p)
    if CATEGORIES[self.dtype] in (0, 3):
        raise TypeError(f"geometric_: {self.spec} is of no integer or float type")
    u = unit(self.shape, generator)
    trials = np.ones(self.shape) if p == 1 else np.maximum(np.ceil(np.log1p(-u) / math.log1p(-p)), 1)
    return write("geometric_", self, trials)


def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Overwrites self with the exponentials of normal numbers of that mean and standard deviation; returns self."""
    require_float("log_normal_", self)
    require("log_normal_", std > 0, "a number above 0", std=std)
    wide = "float64" if self.dtype.itemsize == 8 else "float32"
    with np.errstate(over="ignore"):
        return write(
            "log_normal_", self, np.exp(gauss(self.shape, wide, None, generator, float(mean), float(std)).data)
        )


def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Overwrites self with numbers of Cauchy's distribution about `median`, of half-width `sigma`; returns self."""
    require_float("cauchy_", self)
    require("cauchy_", sigma > 0, "a number above 0", sigma=sigma)
    return write("cauchy_", self, median + sigma * np.tan(math.pi * (unit(self.shape, generator) - 0.5)))


def bernoulli(x, p=None, *, generator=None):
    """1 with the probabilities x (or everywhere p), else 0, of x's shape and dtype. ValueError for what is no probability."""
    if p is None:
        require_float("bernoulli", x)
        return flat(from_numpy(tosses("bernoulli", x.detach().data, x.shape, generator).astype(x.dtype)), x)
    return bernoulli_(x.detach().clone(), p, generator=generator)


def tosses(name, p, shape, generator):
    """Bools, true with probability p."""
    p = np.asarray(p, np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"{name}: p holds {p[~((p >= 0) & (p <= 1))].flat[0]}, expected probabilities from 0 to 1")
    return np.asarray(unit(shape, generator) < p)


def bernoulli_(self, p=0.5, *, generator=None):
    """Overwrites self with 1 with probability p (a number, or a tensor that broadcasts to self), else 0; returns self."""
    p = p.detach().data if hasattr(p, "spec") else p
    if np.broadcast_shapes(np.shape(p), self.shape) != self.shape:
        raise ValueError(f"bernoulli_: p of shape {np.shape(p)} does not broadcast to {self.spec}")
    return write("bernoulli_", self, tosses("bernoulli_", p, self.shape, generator))


def poisson(x, *, generator=None):
    """Numbers of Poisson's distribution with the rates x, of x's shape and dtype. ValueError for a rate below 0 or NaN."""
    require_float("poisson", x)
    rate = x.detach().data.astype(np.float64)
    if not (rate >= 0).all():
        raise ValueError("poisson: the rates have elements that are not 0 or more")
    u = unit(x.shape, generator)
    found = least(u, lambda u: special.pdtrik(u, rate), lambda k: special.pdtr(k, rate))
    return flat(from_numpy(np.asarray(np.where(rate == 0, 0, found), x.dtype)), x)


def binomial(count, prob, *, generator=None):
    """The successes among `count` trials of probability `prob`, two tensors of one float dtype that broadcast."""
    require_float("binomial", count)
    if count.dtype is not prob.dtype:
        raise TypeError(f"binomial: {count.spec} and {prob.spec} must have one dtype")
    spec = elementwise.add.infer(count.spec, prob.spec)
    n, p = (np.broadcast_to(t.detach().data.astype(np.float64), spec.shape) for t in (count, prob))
    n = np.floor(n)
    if not ((n >= 0) & (p >= 0) & (p <= 1)).all():
        raise ValueError("binomial: counts must be 0 or more and probabilities from 0 to 1")
    u = unit(spec.shape, generator)
    inner = (n > 0) & (p > 0) & (p < 1)
    n1, p1 = np.where(inner, n, 1), np.where(inner, p, 0.5)
    found = least(u, lambda u: special.bdtrik(u, n1, p1), lambda k: at_most(k, n1, p1))
    return flat(from_numpy(np.asarray(np.where(inner, np.minimum(found, n1), n * p), spec.dtype)), count, prob)


def at_most(k, n, p):
    """The probability of k successes or fewer of n: an incomplete beta function (Abramowitz and Stegun 26.5.7)."""
    return np.where(k >= n, 1.0, special.betainc(np.maximum(n - k, 1), k + 1, 1 - p))


def least(u, inverse, distribution):
    """The least whole number whose distribution is at least u, from an inverse over the reals that rounding may have put beside it."""
    with np.errstate(all="ignore"):
        k = np.maximum(np.ceil(inverse(u)), 0)
        k = np.where(np.isnan(k), 0, k)  # of u below the first step
        below = np.maximum(k - 1, 0)
        return np.where(distribution(below) >= u, below, k)


def multinomial(x, num_samples, replacement=False, *, generator=None):
    """Places of the last dim drawn with probabilities in proportion to x (n) or (rows, n): int64 (num_samples) or (rows, num_samples).

    Without `replacement` no place is drawn twice: those with the largest x / e, e exponential, which is drawing one after the other
    (Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006). ValueError where too few places have a weight.
    """
    require_float("multinomial", x)
    if x.ndim not in (1, 2):
        raise ValueError(f"multinomial: {x.spec} must have 1 or 2 dims")
    num_samples = as_count("multinomial", "num_samples", num_samples)
    weights = x.detach().data.astype(np.float64)
    places = x.shape[-1]
    require("multinomial", num_samples > 0, "1 or more", num_samples=num_samples)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("multinomial: the weights have elements that are below 0 or not finite")
    if not replacement and num_samples > places:
        raise ValueError(f"multinomial: {num_samples} samples of {places} places without replacement")
    found = (weights > 0).sum(-1)
    if (found < (1 if replacement else num_samples)).any():
        raise ValueError("multinomial: a row has too few weights above 0 for the samples asked for")
    if replacement:
        total = np.cumsum(weights, -1)
        u = unit((*x.shape[:-1], num_samples), generator) * total[..., -1:]
        rows = zip(total.reshape(-1, places), u.reshape(-1, num_samples), strict=True)
        out = [np.searchsorted(t, v, side="right") for t, v in rows]
        # Rounding may take u to the end: the last place that has a weight.
        last = places - 1 - np.argmax((weights > 0)[..., ::-1], -1)
        drawn = np.asarray(out, np.int64).reshape(u.shape)
        return from_numpy(np.minimum(drawn, last[..., None]))
    with np.errstate(all="ignore"):
        keys = np.where(weights > 0, weights / -np.log1p(-unit(x.shape, generator)), -1.0)
    return from_numpy(np.argsort(-keys, axis=-1, kind="stable")[..., :num_samples].astype(np.int64))


# The names that flow_core takes over, and those that tensors have as methods.
__all__ = ["bernoulli", "binomial", "multinomial", "poisson"]
METHODS = {
    **{name: globals()[name] for name in "uniform_ normal_ random_ exponential_ geometric_ log_normal_".split()},
    **{name: globals()[name] for name in "cauchy_ bernoulli bernoulli_ multinomial".split()},
}
