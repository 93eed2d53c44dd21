"""Learning rates as functions of the step."""

import math


def warmup_cosine(step, *, peak, floor, num_warmup, num_steps):
    """The learning rate of step 0, 1, ...: rises to `peak` in `num_warmup` steps, then falls to `floor` at `num_steps` by half a cosine.

    Loshchilov and Hutter, 1608.03983, equation 5, without restarts; `floor` from then on.
    """
    if step < num_warmup:
        return peak * (step + 1) / (num_warmup + 1)
    if step >= num_steps:
        return floor
    done = (step - num_warmup) / (num_steps - num_warmup)
    return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * done))
