"""The arguments that speak of dims, one int for all or one each, and inputs with and without a batch."""

import flow_core as flow


def ints(name, argument, value, num_dims, least, one=True):
    """`value`, an int or a sequence of `num_dims` ints (with `one`, also of one int), as a tuple of ints, none below `least`."""
    value = tuple(value) if isinstance(value, list) else value
    given = value if isinstance(value, tuple) else (value,)
    for n in given:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{name}: {argument} is {value!r}, expected an int or {num_dims} ints")
    if len(given) != num_dims and (len(given) != 1 or (given is value and not one)):
        raise ValueError(f"{name}: {argument} {given} has {len(given)} entries, expected an int or {num_dims} ints")
    given = tuple([n.__index__() for n in given])
    if any(n < least for n in given):
        raise ValueError(f"{name}: {argument} {given} must be {least} or more")
    return given if len(given) == num_dims else given * num_dims


def batched(name, x, num_dims):
    """(x with its batch dim, whether it came without one); ValueError unless x has channels and `num_dims` dims."""
    if x.ndim == num_dims + 1:
        return flow.unsqueeze(x, 0), True
    if x.ndim != num_dims + 2:
        raise ValueError(
            f"{name}: input {x.spec} must have {num_dims + 2} dims (batch, channels, and {num_dims} of size), "
            f"or {num_dims + 1} without the batch"
        )
    return x, False


def unbatched(x, single):
    """x without the batch dim that `batched` gave it."""
    return flow.reshape(x, shape=x.shape[1:]) if single else x


def require_float(name, *tensors):
    """TypeError unless every tensor (or None) is of a float type."""
    for t in tensors:
        if t is not None and t.dtype not in (flow.float32, flow.float64, flow.bfloat16, flow.float16):
            raise TypeError(f"{name}: {t.spec} is not of a float type; cast it first, as in x.to(flow.float32)")


def is_half(x):
    """True for the 16-bit floats, whose sums are taken in float32."""
    return x.dtype in (flow.bfloat16, flow.float16)


def widened(x):
    """16-bit floats in float32, others as they are."""
    return flow.cast(x, dtype=flow.float32) if is_half(x) else x


def as_type(x, dtype):
    """x in `dtype`; itself if it has that type."""
    return x if x.dtype is dtype else flow.cast(x, dtype=dtype)
