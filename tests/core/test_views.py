"""Which outputs share memory with their input, which do not, and what writing in place does."""

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.ops.shape import split_sizes
from flow_core.testing import CALLS, FLOATS, calls, examples

VIEWS = [
    "permute",
    "transpose",
    "expand",
    "split_sizes",
    "slice_",
    "diagonal",
    "view_as_real",
]  # reshape where the memory allows
SOMETIMES = ["reshape", "windows", "strided", "view_as_complex"]
WRITERS = ["copy_", "mul_", "adamw_", "put_at_"]


def shares(a, b):
    return np.shares_memory(a.data, b.data)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_the_memory_of_its_base(name):
    @examples(30)
    @given(calls(name))
    def law(call):
        (x,) = call.tensors()
        out = call.op(x, **call.attrs)
        for o in out if isinstance(out, tuple) else (out,):
            assert shares(o, x) or not o.numel()

    law()


@pytest.mark.parametrize("name", sorted(set(CALLS) - set(VIEWS) - set(SOMETIMES) - set(WRITERS)))
def test_any_other_op_returns_memory_of_its_own_and_leaves_its_arguments_alone(name):
    @examples(20)
    @given(calls(name))
    def law(call):
        tensors = call.tensors()
        given_tensors = [t for t in tensors if isinstance(t, flow.Tensor)]
        before = [t.data.tobytes() for t in given_tensors]
        out = call.op(*tensors, **call.attrs)
        outs = out if isinstance(out, tuple) else (out,)
        assert not any(shares(o, t) for o in outs for t in given_tensors)
        assert not any(shares(a, b) for i, a in enumerate(outs) for b in outs[:i])
        assert [t.data.tobytes() for t in given_tensors] == before
        assert all(o.data.flags.writeable for o in outs)
        assert all(t.version == 0 for t in given_tensors)

    law()


def test_reshape_is_a_view_where_memory_allows():
    x = flow.zeros(2, 3, 4)
    assert shares(x.reshape(6, 4), x)
    assert shares(x[:, :, :1].reshape(2, 3), x)
    assert not shares(x.transpose(0, 2).reshape(-1), x)
    for view in (
        x.view(24),
        x.flatten(),
        x.unsqueeze(1),
        x.squeeze(),
        x[1],
        x[..., ::2],
        x.T,
        x.split(1)[0],
        x.unbind()[0],
    ):
        assert shares(view, x)
    for view in (*x.chunk(2, dim=2), *flow.split(x, [1, 2], dim=1), *x, *split_sizes(x, sizes=(2,), dim=0)):
        assert shares(view, x)
    for copy in (x.clone(), flow.stack([x]), flow.cat([x]), x + 0, x.to(flow.float64)):
        assert not shares(copy, x)
    assert x.contiguous() is x
    assert x.to(flow.float32) is x
    assert x.to("cpu") is x


def test_contiguous_is_contiguous():
    x = flow.tensor(np.arange(6.0).reshape(2, 3))
    for y in (x.T, x[:, ::2], x[::-1], flow.expand(x, shape=(4, 2, 3))):
        assert not y.is_contiguous()
        assert y.contiguous().is_contiguous()
        assert y.contiguous().tolist() == y.tolist()
        assert y.clone().is_contiguous()


def test_a_write_through_a_view_is_seen_by_its_base():
    x = flow.zeros(2, 3)
    x[1].copy_(flow.ones(3))
    x.T[0].mul_(5.0)
    assert x.tolist() == [[0, 0, 0], [5, 1, 1]]


def test_an_expanded_tensor_is_not_written():
    x = flow.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        x.expand(2, 3).copy_(flow.ones(3))
    assert x.tolist() == [0, 0, 0]


def test_writing_in_place_counts_versions():
    x, y = flow.zeros(3), flow.ones(3)
    assert x.copy_(y) is x  # the method returns the tensor, as PyTorch's; the op nothing
    assert flow.OPS["mul_"](x, 3.0) is None
    assert x.tolist() == [3, 3, 3]
    assert (x.version, y.version) == (2, 0)


def test_a_refused_write_counts_no_version():
    x = flow.zeros(3)
    for wrong in (flow.zeros(2), flow.zeros(2, 3)):
        with pytest.raises(ValueError, match="copy_"):
            x.copy_(wrong)
    with pytest.raises(TypeError, match=r"cannot be stored in i64.* without loss"):
        flow.zeros(3, dtype=flow.int64).copy_(x)
    assert x.version == 0


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_copy_and_mul_broadcast_and_cast_as_numpy_does(dtype):
    @examples(30)
    @given(calls("copy_", (dtype, flow.float32)))
    def law(call):
        x, src = call.tensors()
        value = src.data if isinstance(src, flow.Tensor) else src
        copied, scaled = np.empty_like(x.data), x.data.copy()
        copied[...] = value
        expected = np.asarray(np.multiply(scaled, np.asarray(value), dtype=np.float64), dtype)
        x.copy_(src)
        assert x.data.tobytes() == np.ascontiguousarray(copied).tobytes()
        target = flow.tensor(scaled)
        target.mul_(src)
        # The product rounds once or twice, at 8 bits or more.
        np.testing.assert_allclose(
            target.data.astype(float), expected.astype(float), rtol=2 * 2.0 ** (-8 if dtype is flow.bfloat16 else -11)
        )

    law()


def adamw_reference(p, m, v, g, lr, step, scale, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    """Algorithm 2 of Loshchilov and Hutter (1711.05101), in float64, with the learning rate on the decay too."""
    g = g * scale
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g * g
    hat = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
    return p - lr * decay * p - lr * hat[0] / (np.sqrt(hat[1]) + eps), m, v


@pytest.mark.parametrize("dtype", [flow.float32, flow.float64, flow.bfloat16], ids=str)
def test_adamw_is_the_published_algorithm(dtype):
    rng = np.random.default_rng(0)
    shapes = [(3,), (), (2, 0), (4, 5)]
    arrays = [[np.asarray(rng.normal(size=s) ** 2 + 0.1, dtype) for s in shapes] for _ in range(4)]
    expected = [adamw_reference(*[a.astype(float) for a in group], 1e-2, 3, 0.5) for group in zip(*arrays, strict=True)]
    groups = [[flow.tensor(a) for a in group] for group in arrays]
    flow.adamw_(*groups[0], *groups[1], *groups[2], *groups[3], 1e-2, 3, 0.5)
    # About ten roundings an element, of numbers below 10; the constants too are rounded to float32 below float64.
    rounding = {flow.float32: 2.0**-24, flow.float64: 2.0**-53, flow.bfloat16: 2.0**-8}[dtype]
    for i, row in enumerate(expected):
        for group, value in zip(groups, row, strict=False):
            np.testing.assert_allclose(group[i].data.astype(float), value, rtol=0, atol=100 * rounding)
            assert group[i].version == 1
        assert groups[3][i].version == 0


def test_adamw_refuses_state_that_is_not_like_its_parameter():
    p, wrong = flow.zeros(3), flow.zeros(2)
    with pytest.raises(ValueError, match=r"state and gradient .* must be alike"):
        flow.adamw_(p, p, p, wrong, 1e-3, 1, 1.0)
    with pytest.raises(ValueError, match="not 4 n tensors and 3 numbers"):
        flow.adamw_(p, p, 1e-3, 1, 1.0)
