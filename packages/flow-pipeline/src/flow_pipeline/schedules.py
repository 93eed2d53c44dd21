"""The named schedules, each a few lines that write the table."""

from flow_pipeline.schedule import Action, Schedule


def schedule(
    name: str,
    num_stages: int,
    num_microbatches: int,
    *,
    skips: tuple[tuple[int, int], ...] = (),
    forward_only: bool = False,
) -> Schedule:
    """The schedule of that name, one of `SCHEDULES`, with a stage a device.

    `skips` are connections (src stage, dst stage) beside the chain; `forward_only` leaves the gradients out, for
    inference. ValueError for a name that is not known and for counts below 1.

    >>> print(schedule("1f1b", 2, 3))
    1f1b: 2 stages, 3 microbatches
    device 0: F0 F1 BW0 F2 BW1 BW2
    device 1: F0 BW0 F1 BW1 F2 BW2
    """
    if name not in SCHEDULES:
        raise ValueError(f"no schedule is named {name!r}; there are {', '.join(SCHEDULES)}")
    for what, value in (("num_stages", num_stages), ("num_microbatches", num_microbatches)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{what} is a number of 1 or more, got {value!r}")
    devices = SCHEDULES[name](num_stages, num_microbatches)
    if forward_only:
        devices = [[action for action in actions if action.kind == "F"] for actions in devices]
    return Schedule(name, num_stages, num_microbatches, tuple(map(tuple, devices)), tuple(skips))


def gpipe(p: int, m: int) -> list[list[Action]]:
    """All forwards, then all backwards. Huang et al. 2019, arXiv 1811.06965."""
    return [[Action(kind, s, mb) for kind in ("F", "BW") for mb in range(m)] for s in range(p)]


def one_f_one_b(p: int, m: int) -> list[list[Action]]:
    """Forwards until the first gradient comes, then one backward, one forward. Narayanan et al. 2021, arXiv 2104.04473.

    Stage s has p - s microbatches under way at most.
    """
    devices = []
    for s in range(p):
        ahead = min(p - s - 1, m)
        actions = [Action("F", s, mb) for mb in range(ahead)]
        for mb in range(m):
            if ahead + mb < m:
                actions.append(Action("F", s, ahead + mb))
            actions.append(Action("BW", s, mb))
        devices.append(actions)
    return devices


def zb_h1(p: int, m: int) -> list[list[Action]]:
    """1F1B with the weights' gradients apart: stage s puts off s of them, so that the inputs' come earlier.

    The activations of 1F1B on the first device, nowhere more. Qi et al. 2024, arXiv 2401.10241.
    """
    devices = []
    for s, table in enumerate(one_f_one_b(p, m)):
        actions = []
        for action in table:
            if action.kind == "F":
                actions.append(action)
            else:
                actions.append(Action("B", s, action.microbatch))
                if action.microbatch >= s:
                    actions.append(Action("W", s, action.microbatch - s))
        devices.append(actions + [Action("W", s, mb) for mb in range(max(m - s, 0), m)])
    return devices


SCHEDULES = {"gpipe": gpipe, "1f1b": one_f_one_b, "zb_h1": zb_h1}
"""name -> function(num_stages, num_microbatches) -> the actions of each device"""
