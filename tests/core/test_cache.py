"""What an op remembers of its calls changes nothing but their time, and does not grow without bound."""

import math
import threading

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core import op as ops
from flow_core.spec import INTERNED
from flow_core.testing import CALLS, calls, examples


def bits(tensors):
    return [(t.spec, t.data.tobytes()) for t in tensors if t is not None]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_with_a_fresh_cache_and_one_with_a_full_one_give_the_same_bits(name):
    @examples(15)
    @given(calls(name))
    def law(call):
        call.op.cache.clear()
        first = bits(call.run())
        assert bits(call.run()) == first
        assert bits(call.run()) == first

    law()


@pytest.mark.parametrize("order", [(1, 1.0, True), (True, 1.0, 1), (1.0, True, 1)])
def test_equal_attributes_of_different_type_are_different_calls(order):
    flow.OPS["full"].cache.clear()
    for value in order * 2:
        assert flow.full(shape=(2,), fill_value=value).dtype is flow.tensor(value).dtype


def test_a_bool_is_no_dim_even_after_the_int_that_it_equals():
    x = flow.ones(2, 2)
    x.sum(dim=1)
    with pytest.raises(TypeError, match="dim is True, expected an int"):
        x.sum(dim=True)
    with pytest.raises(TypeError, match="expected an int"):
        x.sum(dim=1.0)


@pytest.mark.parametrize("order", [(0.0, -0.0), (-0.0, 0.0)])
def test_minus_zero_is_not_zero(order):
    flow.OPS["full"].cache.clear()
    for value in order * 2:
        for found in (flow.full((1,), value), flow.full((1,), fill_value=value), flow.full_like(flow.ones(1), value)):
            assert math.copysign(1, found.item()) == math.copysign(1, value)


def test_the_same_call_however_it_is_written_gives_the_same():
    x = flow.tensor(np.arange(6.0).reshape(2, 3))
    ways = [
        flow.sum(x, 1),
        flow.sum(x, dim=1),
        flow.sum(x, dim=-1),
        flow.sum(x, dim=[1]),
        flow.sum(x, dim=(1,)),
        flow.sum(x, dim=np.int64(1)),
        x.sum(1),
        x.sum(dim=1, keepdim=False),
    ]
    assert len({str(way.tolist()) + str(way.spec) for way in ways}) == 1


def test_a_numpy_scalar_is_the_python_number_of_its_value():
    x = flow.ones(2, dtype=flow.float32)
    assert (x * np.float64(2)).dtype is flow.float32
    assert (np.float64(2) * x).tolist() == [2, 2]
    assert (x + np.bool_(True)).tolist() == [2, 2]


def test_many_shapes_stay_within_the_bound(monkeypatch):
    monkeypatch.setattr(ops, "CACHE_SIZE", 50)
    for n in range(200):
        assert (flow.ones(n) + flow.ones(n)).shape == (n,)
        assert len(flow.add.cache) <= max(50, 1)
        assert len(flow.OPS["full"].cache) <= 50


def test_specs_that_nobody_holds_are_let_go():
    for op in flow.OPS.values():
        op.cache.clear()
    before = len(INTERNED)
    for n in range(1000, 1200):
        flow.TensorSpec((n, n), flow.float32)
    assert len(INTERNED) <= before + 1


def test_equal_specs_are_one_object_also_from_several_threads():
    found = []

    def make():
        found.append([flow.TensorSpec((3, n), flow.float32) for n in range(500)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(a is b for specs in found for a, b in zip(specs, found[0], strict=True))


def test_ops_run_in_several_threads_at_once():
    flow.mul.cache.clear()
    wrong = []

    def run(k):
        for n in range(200):
            x = flow.full((n % 17, 3), float(k)) * 2.0
            if x.shape != (n % 17, 3) or not np.all(x.data == 2 * k):
                wrong.append((k, n))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_types_inside_an_attribute_s_tuple_are_told_apart_too():
    x = flow.ones(2, 3)
    assert flow.reshape(x, shape=(3, 2)).shape == (3, 2)
    for shape in ((3.0, 2), (3, 2.0)):
        with pytest.raises(TypeError, match="reshape"):
            flow.reshape(x, shape=shape)
    assert flow.sum(x, dim=(0, 1)).item() == 6
    with pytest.raises(TypeError, match="sum"):
        flow.sum(x, dim=(0, True))
