"""Writing in place while calls are recorded: refused for what requires grad, as its graph would not know."""

import pytest

import flow_autograd as autograd
import flow_core as flow


def test_what_requires_grad_is_not_overwritten_while_calls_are_recorded():
    w = flow.ones(2).requires_grad_()
    for call in (w.exp_, lambda: w.add_(1), lambda: flow.ones(2).mul_(w), lambda: flow.ones(2).add_(w, alpha=2)):
        with pytest.raises(ValueError, match="requires grad"):
            call()
    with autograd.no_grad():
        assert w.add_(1).tolist() == [2, 2]
    assert w.requires_grad


WRITERS = {
    "tril_": lambda x: x.tril_(-1),
    "triu_": lambda x: x.triu_(),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(2),
    "conj_physical_": lambda x: x.conj_physical_(),
    "fill_diagonal_": lambda x: x.fill_diagonal_(7),
    "normal_": lambda x: x.normal_(),
    "setitem": lambda x: x.__setitem__(0, 1.0),
}


@pytest.mark.parametrize("name", WRITERS)
def test_writers_refuse_what_requires_grad_and_leave_it_alone(name):
    x = flow.ones(3, 3, requires_grad=True)
    with pytest.raises(ValueError, match="requires grad"):
        WRITERS[name](x)
    assert x.tolist() == [[1.0] * 3] * 3
    with autograd.no_grad():
        WRITERS[name](x)
    assert x.requires_grad
