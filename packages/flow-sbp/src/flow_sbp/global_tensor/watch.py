"""Watching what ops move: `explicit()` refuses it, `trace()` logs it."""

import contextlib
import threading


class Watch(threading.local):
    """The modes of this thread."""

    explicit = False
    log = None


watch = Watch()


@contextlib.contextmanager
def explicit():
    """Inside, an op that would move data by itself raises ValueError, which names the call of to_global to add."""
    before, watch.explicit = watch.explicit, True
    try:
        yield
    finally:
        watch.explicit = before


@contextlib.contextmanager
def trace():
    """Inside, every plan that runs is added to the list it yields, as (op name, argument's place, plan)."""
    before, watch.log = watch.log, []
    try:
        yield watch.log
    finally:
        if before is not None:
            before.extend(watch.log)
        watch.log = before


def moving(name, place, plan, asked=False):
    """Tells the modes that `plan` is about to run for argument `place` of the op `name`; `asked` if the user called for it."""
    if watch.explicit and not asked and plan.bytes_on_wire:
        raise ValueError(
            f"{name}: argument {place} must move from {plan.src} to {plan.dst} ({plan.bytes_on_wire:,} bytes); "
            f"inside explicit() say so: x.to_global(sbp={[str(one) for one in plan.dst.sbp]})"
        )
    if watch.log is not None:
        watch.log.append((name, place, plan))
