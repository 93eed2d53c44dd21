"""What is recorded where: no_grad, enable_grad, threads, leaves and detached tensors."""

import threading

import pytest

import flow_autograd as autograd
import flow_core as flow


@pytest.fixture
def x():
    return flow.ones(2).requires_grad_()


def test_a_result_requires_grad_if_an_argument_does(x):
    y = x * 2.0
    assert y.requires_grad
    assert not y.is_leaf
    assert "mul" in repr(y.grad_fn)
    z = flow.ones(2) * 2.0
    assert not z.requires_grad
    assert z.is_leaf
    assert (z + y).requires_grad


def test_no_grad_records_nothing(x):
    with autograd.no_grad():
        y = x * 2.0
        assert not autograd.is_grad_enabled()
    assert not y.requires_grad
    assert y.is_leaf
    assert autograd.is_grad_enabled()


def test_grad_modes_nest(x):
    with autograd.no_grad():
        with autograd.enable_grad():
            assert (x * 2.0).requires_grad
            with autograd.no_grad():
                assert not (x * 2.0).requires_grad
            assert (x * 2.0).requires_grad
        assert not (x * 2.0).requires_grad
        with autograd.set_grad_enabled(True):
            assert (x * 2.0).requires_grad
    assert (x * 2.0).requires_grad


def test_a_grad_mode_ends_with_an_error(x):
    with pytest.raises(ZeroDivisionError), autograd.no_grad():
        raise ZeroDivisionError
    assert (x * 2.0).requires_grad


def test_grad_modes_are_decorators_also_of_functions_that_call_themselves(x):
    @autograd.no_grad()
    def down(n):
        assert not autograd.is_grad_enabled()
        return x * 2.0 if n == 0 else down(n - 1)

    @autograd.enable_grad()
    def up():
        return x * 2.0

    for _ in range(2):
        assert not down(3).requires_grad
        assert autograd.is_grad_enabled()
    with autograd.no_grad():
        assert up().requires_grad
        assert not autograd.is_grad_enabled()


def test_one_mode_object_can_be_entered_again(x):
    mode = autograd.no_grad()
    with mode:
        with mode:
            assert not (x * 2.0).requires_grad
        assert not (x * 2.0).requires_grad
    assert (x * 2.0).requires_grad


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_a_new_thread_records_whatever_its_parent_does(x):
    assert in_a_thread(autograd.is_grad_enabled)
    with autograd.no_grad():
        assert in_a_thread(autograd.is_grad_enabled)
        assert in_a_thread(lambda: (x * 2.0).requires_grad)
        assert not autograd.is_grad_enabled()


def test_no_grad_in_a_thread_is_that_thread_s_alone(x):
    inside, go_on = threading.Event(), threading.Event()

    def wait():
        with autograd.no_grad():
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=wait)
    thread.start()
    assert inside.wait(10)
    assert autograd.is_grad_enabled()
    assert (x * 2.0).requires_grad
    go_on.set()
    thread.join()


def test_backward_leaves_the_mode_as_it_was(x):
    with autograd.no_grad():
        with autograd.enable_grad():
            y = (x * x).sum()
        y.backward()
        assert not autograd.is_grad_enabled()
    y = (x * x).sum()
    y.backward()
    assert autograd.is_grad_enabled()
    with pytest.raises(ValueError, match="second time"):
        y.backward()
    assert autograd.is_grad_enabled()


def test_detach_shares_the_data_and_leaves_the_graph(x):
    y = (x * 2.0).detach()
    assert not y.requires_grad
    assert y.is_leaf
    assert x.detach().data is x.data


def test_requires_grad_is_for_floats_and_for_leaves(x):
    for dtype in (flow.int64, flow.bool, flow.complex64):
        with pytest.raises(TypeError, match="cannot require grad"):
            flow.ones(2, dtype=dtype).requires_grad_()
    with pytest.raises(TypeError, match="cannot require grad"):
        flow.tensor([1, 2], requires_grad=True)
    y = x * 2.0
    with pytest.raises(ValueError, match="from leaves only"):
        y.requires_grad_(False)
    assert y.requires_grad_() is y
    x.requires_grad_(False)
    assert not (x * 2.0).requires_grad


def test_integers_made_of_a_tensor_that_requires_grad_do_not(x):
    for out in (x.long(), x.bool(), x > 0, flow.argmax(x)):
        assert not out.requires_grad
        assert out.is_leaf
    assert x.double().requires_grad
    assert x.bfloat16().requires_grad


def test_cast_carries_gradients_between_floats(x):
    for method in ("double", "half", "bfloat16", "clone", "contiguous"):
        x.grad = None
        (getattr(x, method)() * 3.0).sum().backward()
        assert x.grad.dtype is flow.float32
        assert x.grad.tolist() == [3, 3]


def test_copies_from_a_tensor_that_requires_grad_are_made_under_no_grad(x):
    target = flow.zeros(2)
    with pytest.raises(ValueError, match="copy_: it would overwrite"):
        x.copy_(target)
    with autograd.no_grad():
        target.copy_(x)
    assert target.tolist() == [1, 1]
    assert target.version == 1
