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
