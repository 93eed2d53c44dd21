"""Whether calls are recorded in this thread, and who else is told of what is recorded."""

import contextlib
import threading

from flow_autograd.node import Part, record
from flow_core.op import recorder


class Recording(threading.local):
    """`record` is what stands in the recorder's slot where calls are recorded; `watchers` are told of each node."""

    record = staticmethod(record)
    watchers = ()


recording = Recording()


class set_grad_enabled(contextlib.ContextDecorator):
    """Records, or does not record, the calls made inside; for `with`, and as a decorator."""

    def __init__(self, mode):
        self.mode = mode
        self.before = []

    def __enter__(self):
        self.before.append(recorder.call)
        recorder.call = recording.record if self.mode else None

    def __exit__(self, *exception):
        recorder.call = self.before.pop()


def no_grad():
    """Records no call made inside: results require no grad."""
    return set_grad_enabled(False)


def enable_grad():
    """Records the calls made inside, also inside no_grad."""
    return set_grad_enabled(True)


def inference_mode(mode=True):
    """no_grad under the name that PyTorch has for its cheapest kind. Here tensors made outside recording cost nothing more already,
    and may be used in recorded calls later."""
    return set_grad_enabled(not mode)


def is_grad_enabled():
    """True if calls are recorded here."""
    return recorder.call is not None


@contextlib.contextmanager
def told_of_nodes(watch):
    """Calls `watch(node)` for each node made inside."""
    before = recording.watchers
    watched(*before, watch)
    try:
        yield
    finally:
        watched(*before)


def watched(*watchers):
    """Records with these watchers from now on."""
    told = record_and_tell if watchers else record
    recording.watchers = watchers
    if recorder.call is recording.record:
        recorder.call = told
    recording.record = told


def record_and_tell(op, tensors, attrs, out):
    """record, and what follows where someone is told of nodes."""
    record(op, tensors, attrs, out)
    place = (out[0] if type(out) is tuple else out).grad_fn
    if place is not None:
        tell(place.node if type(place) is Part else place)


def tell(node):
    """Tells the watchers of a new node."""
    for watch in recording.watchers:
        watch(node)
