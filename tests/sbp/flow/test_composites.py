"""Running, ranking, masked, normalising and in-place functions of global tensors are those of the whole value, wherever it lies."""

import numpy as np
import pytest

import flow_core as flow
from flow_sbp import Placement, spmd
from flow_sbp.global_tensor import distribute, set_comm

X2 = Placement(range(2), "x")
V = np.random.default_rng(0).normal(size=(5, 6))
W, ROW, MASK = abs(V) + 0.5, V[0], V > -0.5
masked = flow.masked
# Functions of what makes a tensor of an array.
CASES = {
    "cumprod": lambda t: flow.cumprod(t(V), 0),
    "cummax": lambda t: flow.cummax(t(V), 0).values,
    "logcumsumexp": lambda t: flow.logcumsumexp(t(V), 1),
    "mode": lambda t: flow.mode(t(V), 0).values,
    "median": lambda t: flow.median(t(V), 0).values,
    "median of all": lambda t: flow.median(t(V)),
    "quantile": lambda t: flow.quantile(t(V), 0.3, 0),
    "cov": lambda t: flow.cov(t(V)),
    "corrcoef": lambda t: flow.corrcoef(t(V)),
    "renorm": lambda t: flow.renorm(t(V), 2, 0, 1.0),
    "frexp": lambda t: flow.frexp(t(V)).mantissa,
    "rounded quotient": lambda t: flow.div(t(V), t(W), rounding_mode="trunc"),
    "rsub": lambda t: flow.rsub(t(V), t(W), alpha=2),
    "softmax": lambda t: flow.softmax(t(V), 0, dtype=flow.float32),
    "sum": lambda t: flow.sum(t(V), 0, dtype=flow.float32),
    "native_layer_norm": lambda t: flow.native_layer_norm(t(V), (6,), t(ROW), None, 1e-5)[0],
    "native_batch_norm": lambda t: flow.native_batch_norm(t(V), t(ROW), None, None, None, True, 0.1, 1e-5)[0],
    "native_group_norm": lambda t: flow.native_group_norm(t(V), None, None, 5, 6, 1, 2, 1e-5)[0],
    "masked.norm": lambda t: masked.norm(t(V), 2, 0, mask=t(MASK)),
    "masked.normalize": lambda t: masked.normalize(t(V), 2, 0, mask=t(MASK)),
    **{
        f"masked.{name}": lambda t, name=name: getattr(masked, name)(t(V), 0, mask=t(MASK))
        for name in "sum prod amax amin mean argmax var median softmax log_softmax cumsum logsumexp".split()
    },
    "add_": lambda t: t(V).add_(t(W), alpha=2),
    "exp_": lambda t: t(V).exp_(),
    "clamp_": lambda t: t(V).clamp_(min=0.1),
    "mul_": lambda t: t(V).mul_(2),
    "copy_": lambda t: t(V).copy_(t(W)),
}


@pytest.mark.parametrize("sbp", ["S(0)", "B"])
@pytest.mark.parametrize("name", CASES)
def test_a_function_of_a_global_tensor_is_that_of_the_whole(name, sbp):
    expected = CASES[name](lambda array: flow.tensor(array)).numpy()

    def run(comm):
        set_comm(comm)
        return CASES[name](lambda a: distribute(a.copy(), X2, sbp if a.ndim > 1 else "B")).full().numpy()

    for found in spmd(2, run):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
