"""The stack under the names that the oracle's runners look for: `python run_oracle.py tests/oracle/adapter.py:Flow DIR`."""

import types

import numpy as np

import flow_autograd  # noqa: F401 - tensors become differentiable
import flow_core
import flow_nn
from flow_nn import functional, optim


class Flow:
    """The methods of the runners' Adapter, on flow_core with `nn` and `optim` beside it."""

    def __init__(self):
        self.fw = types.SimpleNamespace(
            **{name: getattr(flow_core, name) for name in dir(flow_core) if not name.startswith("__")}
        )
        self.fw.nn = types.SimpleNamespace(
            **{name: getattr(flow_nn, name) for name in dir(flow_nn) if not name.startswith("__")}
        )
        self.fw.nn.functional, self.fw.optim = functional, optim

    def tensor(self, a, needs_grad=False):
        return flow_core.tensor(a, requires_grad=needs_grad and np.asarray(a).dtype.kind in "fc")

    def is_tensor(self, x):
        return isinstance(x, flow_core.Tensor)

    def numpy(self, t):
        return t.detach().numpy()

    def dtype(self, name):
        return getattr(flow_core, name)

    def seed(self, n):
        flow_core.manual_seed(n)

    def resolve(self, name, how):
        if "func" in how:
            found = self.fw
            for part in name.split("."):
                found = getattr(found, part, None)
            if callable(found):
                yield found
        if hasattr(flow_core.Tensor, name):
            if "method" in how:
                yield lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
            if "attr" in how:
                yield lambda x, *args, **kwargs: getattr(x, name)

    def backward(self, outs, cotangents):
        total = None
        for out, c in zip(outs, cotangents, strict=True):
            value = (out * self.tensor(c.astype(self.numpy(out).dtype))).sum()
            total = value if total is None else total + value
        total.backward()

    def grad(self, t):
        return None if t.grad is None else self.numpy(t.grad)
