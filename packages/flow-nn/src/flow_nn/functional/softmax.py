"""Activations of a whole row: softmax and its kin, and gated linear units."""

import warnings

import flow_core as flow
from flow_core.functions.arithmetic import taken_in
from flow_core.spec import as_dim
from flow_nn.functional.elementwise import FLOAT, activation, require_kinds, require_tensor
from flow_nn.functional.geometry import as_type


def chosen_dim(name, x, dim, stacklevel):
    """`dim`, or where it is None the one that PyTorch takes: 0 of tensors of 0, 1 or 3 dims, else 1; with a warning."""
    require_tensor(name, "input", x)
    if dim is not None:
        return dim
    warnings.warn(f"{name}: dim is not given; name it, as in {name}(x, dim=1)", UserWarning, stacklevel=stacklevel)
    return 0 if x.ndim in (0, 1, 3) else 1


def as_floats(name, x, dtype):
    """x in `dtype` (of complex numbers the real parts), or as it is; TypeError for integers without one."""
    x = x if dtype is None else taken_in(x, dtype)
    require_kinds(name, x, (FLOAT,))
    return x


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) over its sum along `dim`, of x's dtype or, computed in that, of `dtype`. Without dim a warning: 1, or 0 of 0, 1 or 3 dims."""
    dim = chosen_dim("softmax", input, dim, _stacklevel)
    return flow.softmax(as_floats("softmax", input, dtype), dim=dim)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -x."""
    dim = chosen_dim("softmin", input, dim, _stacklevel)
    return flow.softmax(as_floats("softmin", -input, dtype), dim=dim)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax, without exponentials that overflow; arguments as softmax's."""
    dim = chosen_dim("log_softmax", input, dim, _stacklevel)
    return flow.log_softmax(as_floats("log_softmax", input, dtype), dim=dim)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the distribution with these logits along `dim`, relaxed: softmax((logits + Gumbel noise) / tau).

    With `hard` its largest element becomes 1 and the others 0, the gradient stays that of the relaxed sample. Jang, Gu and Poole,
    1611.01144. eps does nothing any more. ValueError for a tau of 0 or less.
    """
    require_kinds("gumbel_softmax", logits, (FLOAT,))
    if not tau > 0:
        raise ValueError(f"gumbel_softmax: tau is {tau}, expected a number above 0")
    if eps != 1e-10:
        warnings.warn("gumbel_softmax: eps has no effect", UserWarning, stacklevel=2)
    dim = as_dim("gumbel_softmax", dim, logits.ndim)
    # The smallest normal float32: log of what is drawn must be finite.
    waits = flow.zeros(logits.shape, dtype=flow.float32).exponential_()
    noise = as_type(-flow.log(flow.clamp(waits, min=2.0**-126)), logits.dtype)
    soft = flow.softmax((logits + noise) / tau, dim=dim)
    if not hard:
        return soft
    places = flow.unsqueeze(flow.argmax(soft, dim=dim), dim)
    sizes = [1] * logits.ndim
    sizes[dim] = logits.shape[dim]
    names = flow.reshape(flow.arange(logits.shape[dim]), shape=tuple(sizes))
    return flow.cast(places == names, dtype=soft.dtype) - soft.detach() + soft


@activation(FLOAT)
def glu(input, dim=-1):
    """The first half of x along `dim` times the sigmoid of the second. Dauphin et al., 1612.08083. ValueError for an odd size."""
    if not input.ndim:
        raise ValueError("glu: input has no dims")
    dim = as_dim("glu", dim, input.ndim)
    if input.shape[dim] % 2:
        raise ValueError(f"glu: dim {dim} of {input.spec} has an odd size")
    half = input.shape[dim] // 2
    return flow.narrow(input, dim, 0, half) * flow.sigmoid(flow.narrow(input, dim, half, half))


__all__ = ["glu", "gumbel_softmax", "log_softmax", "softmax", "softmin"]
