"""Whether calls are recorded in this thread."""

import contextlib

from flow_core.op import recorder

from flow_autograd.node import record


@contextlib.contextmanager
def set_grad_enabled(mode):
    """Records, or does not record, the calls made inside; usable as `with` and as a decorator."""
    before = recorder.call
    recorder.call = record if mode else None
    try:
        yield
    finally:
        recorder.call = before


def no_grad():
    """Records no call made inside: results require no grad."""
    return set_grad_enabled(False)


def enable_grad():
    """Records the calls made inside, also inside no_grad."""
    return set_grad_enabled(True)


def is_grad_enabled():
    """True if calls are recorded here."""
    return recorder.call is not None
