"""Whether calls are recorded in this thread."""

import contextlib

from flow_autograd.node import record
from flow_core.op import recorder


class set_grad_enabled(contextlib.ContextDecorator):
    """Records, or does not record, the calls made inside; for `with`, and as a decorator."""

    def __init__(self, mode):
        self.mode = mode
        self.before = []

    def __enter__(self):
        self.before.append(recorder.call)
        recorder.call = record if self.mode else None

    def __exit__(self, *exception):
        recorder.call = self.before.pop()


def no_grad():
    """Records no call made inside: results require no grad."""
    return set_grad_enabled(False)


def enable_grad():
    """Records the calls made inside, also inside no_grad."""
    return set_grad_enabled(True)


def is_grad_enabled():
    """True if calls are recorded here."""
    return recorder.call is not None
