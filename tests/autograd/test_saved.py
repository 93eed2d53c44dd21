"""Saved-tensor hooks, anomaly mode: what the graph keeps, and who is told of it."""

import threading

import numpy as np
import pytest
from hypothesis import given

import flow_autograd as autograd
import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import CALLS, calls, examples


def leaf(*data):
    return flow.tensor(data, dtype=flow.float64, requires_grad=True)


def test_what_pack_returns_is_kept_and_unpack_is_asked_when_it_is_needed():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.tolist())
        return t.numpy().copy()

    def unpack(array):
        unpacked.append(array.tolist())
        return flow.from_numpy(array)

    x = leaf(1.0, 2.0)
    with autograd.saved_tensors_hooks(pack, unpack):
        y = flow.exp(x * 3.0)
        z = (y * y).sum()
    later = (y * y).sum()  # outside: kept as ever
    assert unpacked == []
    z.backward(retain_graph=True)
    assert sorted(packed) == sorted(unpacked)
    assert len(packed) == 3  # the result of exp, and y twice; x itself is a leaf, and stays as it is
    once = x.grad.tolist()
    later.backward()
    assert x.grad.tolist() == [2 * g for g in once]


@pytest.mark.parametrize(
    "name", sorted(set(CALLS) & set(autograd.VJPS) & {"mul", "matmul", "softmax", "sqrt", "split_sizes", "where"})
)
def test_packed_as_it_is_a_tensor_changes_nothing_up_to_the_second_derivative(name):
    @examples(5)
    @given(calls(name, (flow.float64,), smooth=True))
    def law(call):
        places = [i for i, a in enumerate(call.args) if isinstance(a, np.ndarray) and a.dtype == np.float64]

        def function(*tensors):
            args = call.tensors()
            for i, t in zip(places, tensors, strict=True):
                args[i] = t
            with autograd.saved_tensors_hooks(lambda t: t.numpy().copy(), flow.from_numpy):
                out = call.op(*args, **call.attrs)
                return out * out if isinstance(out, flow.Tensor) else out

        check_grads(function, *[call.args[i] for i in places], order=2)

    law()


def test_of_two_contexts_the_inner_packs():
    outer, inner, x = [], [], leaf(1.0)
    with autograd.saved_tensors_hooks(lambda t: outer.append(0) or t, lambda t: t):
        y = flow.exp(x)
        with autograd.saved_tensors_hooks(lambda t: inner.append(0) or t, lambda t: t):
            z = flow.exp(y)
        w = flow.exp(z)
    assert (len(outer), len(inner)) == (2, 1)
    w.backward()
    assert x.grad.item() == pytest.approx(np.exp(np.exp(np.e)) * np.exp(np.e) * np.e)


def test_hooks_are_this_thread_s_and_stay_on_inside_enable_grad():
    kept, found = [], []
    with autograd.saved_tensors_hooks(lambda t: kept.append(0) or t, lambda t: t):
        thread = threading.Thread(target=lambda: found.append(flow.exp(leaf(1.0))))
        thread.start()
        thread.join()
        assert kept == []
        with autograd.no_grad():
            flow.exp(leaf(1.0))
            assert kept == []
            with autograd.enable_grad():
                flow.exp(leaf(1.0))
        assert kept == [0]
    flow.exp(leaf(1.0))
    assert kept == [0]


def test_what_unpack_must_return():
    x = leaf(1.0)
    with autograd.saved_tensors_hooks(lambda t: t, lambda t: t.numpy()):
        y = flow.exp(x)
    with pytest.raises(ValueError, match=r"an unpack hook returned array.* for a saved tensor f64\[1\]"):
        y.backward()
    with autograd.saved_tensors_hooks(lambda t: t, lambda t: flow.zeros(2)):
        y = flow.exp(x)
    with pytest.raises(ValueError, match=r"returned f32\[2\] for a saved tensor f64\[1\]"):
        y.backward()


def test_anomaly_mode_names_the_op_and_the_line_of_a_nan_in_the_forward_pass():
    with autograd.detect_anomaly(), pytest.raises(FloatingPointError) as caught:
        flow.log(flow.tensor([-1.0]))  # the line
    assert "log made a NaN of arguments without one" in str(caught.value)
    assert "test_saved.py" in str(caught.value)
    assert str(caught.value).endswith("# the line")


def test_anomaly_mode_names_the_op_and_the_line_of_a_nan_in_the_reverse_pass():
    x = leaf(0.0)
    with autograd.detect_anomaly():
        y = flow.sqrt(x)  # the line
        z = y * 0.0
        with pytest.raises(FloatingPointError) as caught:
            z.backward()
    assert "the derivative of sqrt for argument 0 holds NaN" in str(caught.value)
    assert str(caught.value).endswith("# the line")
    with autograd.detect_anomaly(check_nan=False):
        flow.log(flow.tensor([-1.0]))
        (flow.sqrt(x) * 0.0).backward()
    assert np.isnan(x.grad.numpy()).all()


def test_a_nan_that_comes_in_is_no_anomaly_and_a_line_outside_is_said_to_be_unknown():
    x = leaf(0.0)
    y = flow.sqrt(x) * 0.0
    with autograd.detect_anomaly():
        assert np.isnan((flow.tensor([np.nan]) + 1.0).numpy()).all()
        assert flow.tensor([1, 2]).sum().item() == 3
        with pytest.raises(FloatingPointError, match="was not recorded under detect_anomaly"):
            y.backward()
    flow.log(flow.tensor([-1.0]))  # after it, all is as before


def test_inference_mode_records_nothing():
    x = leaf(1.0)
    with autograd.inference_mode():
        y = x * 2.0
        assert not autograd.is_grad_enabled()
    assert not y.requires_grad
    with autograd.no_grad(), autograd.inference_mode(False):
        assert (x * 2.0).requires_grad
