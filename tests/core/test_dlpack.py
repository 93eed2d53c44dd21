"""Memory shared with other libraries through DLPack, both ways."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core import dlpack
from flow_core.dtype import CATEGORIES

DTYPES = list(CATEGORIES)


def sample(dtype):
    return flow.from_numpy(np.array([[0, 1, 1], [1, 0, 1]], dtype))


class Old:
    """A library of before DLPack 1: its __dlpack__ takes the stream alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_taken_from_a_tensor_shares_its_memory(dtype):
    x = sample(dtype)
    for source in (x, x.mT, x[:, ::2], x[1:], flow.from_numpy(x.data[0, 0, ...])):
        y = flow.from_dlpack(source)
        assert y.spec is source.spec
        assert y.data.strides == source.data.strides
        assert np.shares_memory(y.data, source.data)
        assert y.tolist() == source.tolist()
    flow.from_dlpack(x).data[0, 0] = 1
    assert x.tolist()[0][0] == 1


@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=4), st.randoms())
def test_every_shape_and_order_of_dims_travels(dtype, shape, random):
    x = flow.from_numpy(np.arange(int(np.prod(shape))).reshape(shape).astype(dtype))
    dims = list(range(x.ndim))
    random.shuffle(dims)
    x = x.permute(dims) if dims else x
    y = flow.from_dlpack(x)
    assert y.spec is x.spec
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not flow.bfloat16], ids=str)
def test_numpy_takes_a_tensor_and_gives_one_without_a_copy(dtype):
    x = sample(dtype)
    a = np.from_dlpack(x)
    assert a.dtype is x.dtype
    assert np.shares_memory(a, x.data)
    y = flow.from_dlpack(x.data)
    assert y.spec is x.spec
    assert np.shares_memory(y.data, x.data)


def test_a_capsule_of_bfloat16_says_so():
    x = sample(flow.bfloat16)
    for version, name in ((None, b"dltensor"), ((1, 0), b"dltensor_versioned")):
        capsule = x.__dlpack__(max_version=version)
        assert dlpack.is_named(capsule, name)
        at = dlpack.pointer_of(capsule, name) + dlpack.CODE_AT[name]
        assert list((ctypes.c_uint8 * 2).from_address(at)) == [dlpack.BFLOAT, 16]
        assert ctypes.c_void_p.from_address(at - 20).value == x.data.ctypes.data


@pytest.mark.parametrize("dtype", [flow.float32, flow.bfloat16], ids=str)
def test_an_old_capsule_gives_memory_that_is_read_only(dtype):
    x = sample(dtype)
    y = flow.from_dlpack(Old(x))
    assert y.tolist() == x.tolist()
    assert np.shares_memory(y.data, x.data)
    assert not y.data.flags.writeable
    with pytest.raises(TypeError):
        flow.from_dlpack(Old(x), copy=True)


@pytest.mark.parametrize("dtype", [flow.float32, flow.bfloat16], ids=str)
def test_read_only_memory_stays_so_and_an_old_capsule_cannot_say_it(dtype):
    x = sample(dtype).expand(2, 2, 3)
    assert not flow.from_dlpack(x).data.flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()


@pytest.mark.parametrize("dtype", [flow.float32, flow.bfloat16], ids=str)
def test_copy_true_copies_and_copy_false_does_not(dtype):
    x = sample(dtype)
    assert not np.shares_memory(flow.from_dlpack(x, copy=True).data, x.data)
    assert np.shares_memory(flow.from_dlpack(x, copy=False).data, x.data)
    turned = flow.flip(x, (0,))
    copied = flow.from_dlpack(turned)
    assert copied.tolist() == turned.tolist()
    assert not np.shares_memory(copied.data, x.data)
    with pytest.raises(BufferError, match="run backwards"):
        flow.from_dlpack(turned, copy=False)


def test_what_cannot_be_shared_is_refused():
    x = sample(flow.float32)
    with pytest.raises(BufferError, match=r"requires grad.*x\.detach\(\)"):
        flow.ones(2).requires_grad_().__dlpack__()
    with pytest.raises(ValueError, match="stream is 1"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"dl_device is \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match=r"a builtins\.list has no __dlpack__"):
        flow.from_dlpack([1])
    with pytest.raises(ValueError, match="cuda"):
        flow.from_dlpack(x, device="cuda")
    assert x.__dlpack_device__() == (1, 0)

    class Far(Old):
        def __dlpack_device__(self):
            return (2, 3)

    with pytest.raises(BufferError, match=r"device \(2, 3\), not the CPU's"):
        flow.from_dlpack(Far(x))

    class Twice(Old):
        capsule = x.__dlpack__()

        def __dlpack__(self, **options):
            return self.capsule

    flow.from_dlpack(Twice(x))
    with pytest.raises(BufferError, match="used before"):
        flow.from_dlpack(Twice(x))


def test_memory_outlives_the_tensor_that_it_came_from():
    import gc

    for dtype in (flow.float32, flow.bfloat16):
        y = flow.from_dlpack(flow.full((1000,), 3, dtype=dtype))
        gc.collect()
        assert set(y.tolist()) == {3.0}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_torch_shares_memory_both_ways(dtype):
    torch = pytest.importorskip("torch")
    x = sample(dtype)
    t = torch.from_dlpack(x)
    assert str(t.dtype) == f"torch.{dtype}"
    t[0, 0] = 1
    assert x.tolist()[0][0] == 1
    y = flow.from_dlpack(t)
    assert y.spec is x.spec
    assert np.shares_memory(y.data, x.data)
    assert torch.from_dlpack(flow.flip(x, (0,))).tolist() == x.tolist()[::-1]
    with pytest.raises(BufferError):
        flow.from_dlpack(torch.ones(1, requires_grad=True))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
def test_jax_shares_memory_both_ways(dtype):
    jnp = pytest.importorskip("jax.numpy")
    x = sample(flow.dtype.as_dtype(dtype))
    assert jnp.from_dlpack(x).tolist() == x.tolist()
    j = jnp.ones((2, 3), dtype)
    y = flow.from_dlpack(j)
    assert y.tolist() == j.tolist()
    assert not y.data.flags.writeable
