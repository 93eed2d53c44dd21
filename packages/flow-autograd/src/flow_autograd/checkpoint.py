"""Checkpointing: what a part of a program saves for its derivative is dropped and computed again when the reverse pass comes to it.

Chen, Xu, Zhang and Guestrin, "Training deep nets with sublinear memory cost", 2016. Selective: results of chosen ops are kept, and the
second run does not compute those again.
"""

import contextlib

from flow_autograd.mode import enable_grad, is_grad_enabled
from flow_autograd.saved import saved_tensors_hooks
from flow_core.op import interceptor
from flow_core.random import default_generator


def checkpoint(function, *args, policy=None, **kwargs):
    """function(*args, **kwargs), of which the graph keeps the arguments only: it runs again in the reverse pass.

    Random ops draw the same numbers again from the default generator. `policy(op, *tensors, **attrs)`, if given, says of which ops the
    results are kept, so that they need not run again: flow_autograd.keep("matmul", "linear") keeps those of some names. ValueError in
    the reverse pass if the second run saves other tensors than the first.
    """
    if not is_grad_enabled():
        return function(*args, **kwargs)
    segment = Segment(function, args, kwargs, policy)
    with saved_tensors_hooks(segment.number, segment.tensor), segment.keeping():
        return function(*args, **kwargs)


def keep(*names):
    """A policy for checkpoint: the results of the ops of these names are kept."""
    chosen = frozenset(names)
    return lambda op, *tensors, **attrs: op.name in chosen


class Segment:
    """A part of the graph whose saved tensors are numbers, and how to make the tensors."""

    def __init__(self, function, args, kwargs, policy):
        self.function, self.args, self.kwargs, self.policy = function, args, kwargs, policy
        self.random = default_generator.get_state()
        self.specs = []  # of the saved tensors
        self.made = {}  # those of the second run by number, until they are taken
        self.kept = []  # results of the ops that the policy chose, in the order of their calls

    def number(self, tensor):
        """Packs a saved tensor: its number stands for it."""
        self.specs.append(tensor.spec)
        return len(self.specs) - 1

    def tensor(self, number):
        """Unpacks a number."""
        if number not in self.made:
            self.run_again()
        return self.made.pop(number)

    def run_again(self):
        """Runs the function a second time and holds what it saves; its graph is dropped."""
        made = []
        now = default_generator.get_state()
        default_generator.set_state(self.random)
        try:
            with enable_grad(), saved_tensors_hooks(made.append, no_second_derivative), self.keeping(again=True):
                self.function(*self.args, **self.kwargs)
        finally:
            default_generator.set_state(now)
        if [t.spec for t in made] != self.specs:
            raise ValueError(
                f"checkpoint: {getattr(self.function, '__name__', self.function)} saved {[t.spec for t in made]} in its second run "
                f"and {self.specs} in its first: it must do the same each time it is called"
            )
        self.made = dict(enumerate(made))

    @contextlib.contextmanager
    def keeping(self, again=False):
        """Keeps results of the ops that the policy chooses; `again`, hands those out instead of running the ops."""
        if self.policy is None:
            yield
            return
        inner, results = interceptor.call, iter(self.kept)

        def call(run, op, tensors, attrs):
            chosen = self.policy(op, *tensors, **attrs)
            if again and chosen:
                out, normal = next(results)
                return detached(out), normal
            out, normal = run(op, tensors, attrs) if inner is None else inner(run, op, tensors, attrs)
            if chosen:
                self.kept.append((detached(out), normal))
            return out, normal

        interceptor.call = call
        try:
            yield
        finally:
            interceptor.call = inner


def detached(out):
    """A result of an op, one tensor or several, as new tensors of the same data."""
    return tuple([t.detach() for t in out]) if type(out) is tuple else out.detach()


def no_second_derivative(content):
    raise AssertionError("the graph of a second run is never differentiated")
