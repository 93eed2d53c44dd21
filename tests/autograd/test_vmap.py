"""vmap: each op on a batch is the op on each example, stacked; with gradients inside and outside of it."""

import numpy as np
import pytest
from hypothesis import given

import flow_autograd as autograd
import flow_core as flow
from flow_autograd import func, vmap
from flow_autograd.batching import RULES
from flow_core.testing import CALLS, calls, examples

RNG = np.random.default_rng(0)
# They write in place, draw numbers, or take no tensor.
LEFT_OUT = {name for name, op in flow.OPS.items() if isinstance(op, flow.InPlaceOp) or "seed" in op.tensor_names} | {
    "full",
    "arange_from",
}
NAMES = sorted(name for name in CALLS if name not in LEFT_OUT and (flow.OPS[name].elementwise or name in RULES))
ONE_BY_ONE = ["gather", "add_rows", "solve"]


def tensor(*shape):
    return flow.from_numpy(RNG.standard_normal(shape))


@pytest.mark.parametrize("name", [*NAMES, *ONE_BY_ONE])
def test_an_op_on_a_batch_is_the_op_on_each_example(name):
    @examples(8)
    @given(calls(name, (flow.float32, flow.float64, flow.int64, flow.bool)))
    def law(call):
        places = [i for i, a in enumerate(call.args) if isinstance(a, np.ndarray)]
        for chosen in [places, *([[p] for p in places] if len(places) > 1 else [])]:
            # The second example has the first's elements in reverse, which fits whatever the first fits.
            examples = [call.tensors(), call.tensors()]
            for p in chosen:
                a = examples[1][p].numpy()
                examples[1][p] = flow.from_numpy(a.reshape(-1)[::-1].reshape(a.shape).copy())
            try:
                expected = [as_list(call.op(*args, **call.attrs)) for args in examples]
            except (ValueError, IndexError):
                continue  # the op cannot take the second
            stacked = [flow.stack([e[p] for e in examples]) for p in chosen]

            def function(*batches, chosen=chosen):
                args = call.tensors()
                for p, b in zip(chosen, batches, strict=True):
                    args[p] = b
                return tuple(as_list(call.op(*args, **call.attrs)))

            for found, *wanted in zip(vmap(function)(*stacked), *expected, strict=True):
                want = np.stack([w.numpy() for w in wanted])
                assert found.dtype is wanted[0].dtype
                size = np.abs(want[np.isfinite(want)]).max(initial=1) if want.dtype.kind == "f" else 1
                eps = 0 if found.dtype.kind in "biu" else 64 * np.finfo(found.dtype).eps
                np.testing.assert_allclose(found.numpy(), want, rtol=eps, atol=eps * size)

    law()


def as_list(out):
    return list(out) if isinstance(out, tuple) else [out]


def test_gradients_of_each_example():
    x, w = tensor(5, 3), tensor(3, 3)

    def loss(weight, a):
        return flow.tanh(weight @ a.reshape(3, 1)).sum()

    found = vmap(func.grad(loss), in_dims=(None, 0))(w, x)
    wanted = [func.grad(loss)(w, x[i]).detach().numpy() for i in range(5)]
    np.testing.assert_allclose(found.numpy(), np.stack(wanted), rtol=1e-12)


def test_a_batch_is_differentiable_from_outside():
    x, w = tensor(5, 3).requires_grad_(), tensor(3).requires_grad_()
    vmap(lambda a: flow.exp(a * w).sum())(x).sum().backward()
    y = flow.exp(x.detach() * w.detach()).numpy()
    np.testing.assert_allclose(x.grad.numpy(), y * w.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), (y * x.detach().numpy()).sum(0), rtol=1e-12)


def test_second_derivatives_within_and_jacobians_within():
    x = tensor(4, 3)
    found = vmap(func.hessian(lambda a: (a**3).sum()))(x).numpy()
    np.testing.assert_allclose(found, np.stack([np.diag(6 * row) for row in x.numpy()]), rtol=1e-12, atol=1e-12)
    found = vmap(func.jacrev(lambda a: flow.sin(a) * a.sum()))(x).numpy()
    a = x.numpy()
    wanted = [np.diag(np.cos(r) * r.sum()) + np.outer(np.sin(r), np.ones(3)) for r in a]
    np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-12)


def test_nested_maps_and_dims():
    x, y = tensor(4, 3), tensor(5, 3)
    outer = vmap(vmap(lambda a, b: (a * b).sum(), in_dims=(None, 0)), in_dims=(0, None))
    np.testing.assert_allclose(outer(x, y).numpy(), x.numpy() @ y.numpy().T, rtol=1e-12)
    found = vmap(lambda a: (a * 2.0, a.sum()), in_dims=1, out_dims=(1, 0))(x)
    np.testing.assert_array_equal(found[0].numpy(), x.numpy() * 2)
    np.testing.assert_allclose(found[1].numpy(), x.numpy().sum(0))
    assert vmap(lambda a: a * 1.0, in_dims=-1, out_dims=-1)(x).shape == (4, 3)


def test_nested_structures_and_what_is_the_same_for_all():
    x = tensor(4, 3)
    found = vmap(lambda d, c: {"sum": d["a"] + c, "same": [c]}, in_dims=(0, None))(
        {"a": x}, flow.ones(3, dtype=flow.float64)
    )
    np.testing.assert_array_equal(found["sum"].numpy(), x.numpy() + 1)
    assert found["same"][0].tolist() == [[1.0] * 3] * 4


def test_no_examples_at_all():
    assert vmap(lambda a: flow.exp(a).sum())(flow.zeros(0, 3)).shape == (0,)
    with pytest.raises(ValueError, match="gather has no rule for a batch"):
        vmap(lambda a: flow.gather(a, 0, flow.zeros(1, dtype=flow.int64)))(flow.zeros(0, 3))


def test_dropout_draws_for_each_example():
    kept = vmap(lambda a: flow.dropout(a, 0.5))(flow.ones(2, 64)).numpy() != 0
    assert (kept[0] != kept[1]).any()


def test_what_is_refused():
    x = tensor(4, 3)
    with pytest.raises(ValueError, match=r"agree in the number of examples, given: f64\[4, 3\], f64\[3, 3\]"):
        vmap(lambda a, b: a)(x, tensor(3, 3))
    with pytest.raises(ValueError, match="given: none with examples"):
        vmap(lambda a: a, in_dims=None)(x)
    with pytest.raises(ValueError, match="2 arguments and 1 in_dims"):
        vmap(lambda a, b: a, in_dims=(0,))(x, x)
    with pytest.raises(ValueError, match="in_dim 2 is none of the dims"):
        vmap(lambda a: a, in_dims=2)(x)
    with pytest.raises(TypeError, match=r"use flow\.where instead of `if`"):
        vmap(lambda a: a if a.sum() > 0 else -a)(x)
    with pytest.raises(TypeError, match="mul_ writes in place"):
        vmap(lambda a: a.mul_(2.0))(x)
    with pytest.raises(TypeError, match="the function returned a float"):
        vmap(lambda a: 1.0)(x)
    with pytest.raises(TypeError, match="no one value for a batch"):
        vmap(lambda a: a.sum().item())(x)
    assert vmap(lambda a: a * 2.0)(x).shape == (4, 3)  # a map that failed leaves no level behind


def test_autograd_of_a_batch_refuses_as_that_of_a_tensor():
    with pytest.raises(ValueError, match="more than one element"):
        vmap(lambda a: autograd.grad(a.requires_grad_() * 2.0, [a])[0])(tensor(4, 3))
