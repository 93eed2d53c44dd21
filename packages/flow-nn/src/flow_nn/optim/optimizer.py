"""Optimizer: groups of parameters with their hyperparameters, and a pair of functions, init and update, behind step()."""

from flow_autograd import no_grad


class Optimizer:
    """Holds `param_groups`, a list of dicts of "params" and hyperparameters, and the state of each parameter.

    A subclass gives `init(param) -> dict of tensors`, `update(params, states, step, **hyperparameters)`, which writes to params and
    states in place, and `check(**hyperparameters)`, which refuses what is out of range.
    """

    def __init__(self, params, defaults):
        if hasattr(params, "spec"):
            raise TypeError(f"{type(self).__name__}: params is one tensor, {params.spec}: give a list")
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: no parameters given")
        groups = groups if isinstance(groups[0], dict) else [{"params": groups}]
        self.param_groups = [{**defaults, **group, "params": list(group["params"])} for group in groups]
        for group in self.param_groups:
            hyperparameters = {k: v for k, v in group.items() if k != "params"}
            unknown = [name for name in hyperparameters if name not in defaults]
            if unknown:
                raise ValueError(
                    f"{type(self).__name__}: {unknown[0]} is not a setting: expected {', '.join(defaults)}"
                )
            self.check(**hyperparameters)
        every = [p for group in self.param_groups for p in group["params"]]
        for p in every:
            if not getattr(p, "is_leaf", False):
                raise TypeError(
                    f"{type(self).__name__}: {getattr(p, 'spec', p)!s} is not a parameter, or other leaf tensor"
                )
        if len({id(p) for p in every}) != len(every):
            raise ValueError(f"{type(self).__name__}: a parameter stands in the groups twice")
        self.state = {}  # id of a parameter -> its state
        self.num_steps = 0

    def zero_grad(self):
        """Drops the gradients."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def step(self):
        """One step on all parameters that have a gradient."""
        self.num_steps += 1
        with no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if params:
                    states = [self.state_of(p) for p in params]
                    self.update(params, states, self.num_steps, **{k: v for k, v in group.items() if k != "params"})

    def state_of(self, p):
        """The state of a parameter, made when first asked for."""
        if id(p) not in self.state:
            self.state[id(p)] = self.init(p)
        return self.state[id(p)]
