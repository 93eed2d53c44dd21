"""The methods `name_` of elementwise and running functions: what `name` gives, written into the tensor.

They refuse what in-place ops refuse: to write to, or from, a tensor that requires grad while calls are recorded; and a result that does
not fit, be it for its shape or because the tensor's dtype is of a lower category (floats into integers, numbers into bools).
"""

from flow_core.dtype import CATEGORIES
from flow_core.op import recorder
from flow_core.ops import elementwise, inplace

# The methods that have such a variant in PyTorch.
NAMES = """abs absolute acos arccos acosh arccosh asin arcsin asinh arcsinh atan arctan atanh arctanh ceil cos cosh deg2rad digamma erf
erfc erfinv exp exp2 expm1 fix floor frac i0 lgamma log log10 log1p log2 logical_not logit mvlgamma nan_to_num neg negative polygamma
rad2deg reciprocal relu round rsqrt sgn sigmoid sign sin sinc sinh sqrt square tan tanh trunc bitwise_not
add sub subtract multiply div divide true_divide floor_divide fmod remainder pow float_power atan2 arctan2 copysign hypot gcd lcm heaviside
ldexp lerp bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor
eq ne lt le gt ge not_equal greater greater_equal less less_equal nextafter igamma igammac xlogy addcmul addcdiv
clamp clamp_min clamp_max clip cumsum cumprod renorm""".split()


def refuse_recorded(name, tensors):
    """ValueError if one of the tensors requires grad and calls are being recorded."""
    if recorder.call is not None and any([getattr(t, "requires_grad", False) for t in tensors]):
        raise ValueError(
            f"{name}: it would overwrite a tensor in a call that requires grad; call it under no_grad(), or on x.detach()"
        )


def overwrite(name, x, value):
    """x, overwritten with `value`. ValueError for a value of another shape, TypeError for one of a higher category."""
    if value.shape != x.shape:
        raise ValueError(f"{name}: the result is {value.spec}, which does not fit in {x.spec}")
    if CATEGORIES[value.dtype] > CATEGORIES[x.dtype]:
        raise TypeError(
            f"{name}: the result is {value.spec}, which cannot be stored in {x.spec}; cast the tensor first"
        )
    inplace.copy_(x, value if value.dtype is x.dtype else elementwise.cast(value, dtype=x.dtype))
    return x


def overwriting(name):
    """The method `name`_."""

    def method(self, *args, **kwargs):
        refuse_recorded(f"{name}_", (self, *args, *kwargs.values()))
        return overwrite(f"{name}_", self, getattr(self, name)(*args, **kwargs))

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = (
        f"As {name}, written into the tensor, which is returned. ValueError if a tensor requires grad and calls are recorded, or for a "
        "result of another shape; TypeError for a result that the dtype cannot hold."
    )
    return method


def copy_(self, src, non_blocking=False):
    """The tensor, overwritten with src (a tensor or a number), broadcast and cast to its shape and dtype."""
    inplace.copy_(self, src)
    return self


def mul_(self, other):
    """The tensor, multiplied in place by `other`, a number or a tensor that broadcasts to it."""
    inplace.mul_(self, other)
    return self


METHODS = {**{f"{name}_": overwriting(name) for name in NAMES}, "copy_": copy_, "mul_": mul_}
