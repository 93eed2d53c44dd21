"""Text drawn from a model, one character at a time."""

import math

import numpy as np

import flow_core as flow
from flow_autograd import no_grad


def generate(model, ids, num_tokens, *, temperature=1.0, top_k=None, seed=0):
    """Yields `num_tokens` ids, each drawn from the model's distribution after `ids` and those before it.

    `temperature` divides the logits (0 takes the likeliest), `top_k` keeps the k likeliest. The same seed gives the same ids,
    if the model is in evaluation mode or has no dropout.
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature is {temperature}, expected a finite number of 0 or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}, expected 1 or more")
    generator = flow.Generator(seed)
    ids = list(ids)
    if not ids:
        raise ValueError("the prompt is empty: give a character at least")
    for _ in range(num_tokens):
        context = np.array([ids[-model.config.block_size :]], np.int64)
        with no_grad():
            logits = model(flow.from_numpy(context)).numpy()[0, -1].astype(np.float64)
        draw = flow.rand(dtype=flow.float64, generator=generator).item()
        ids.append(choose(logits, draw, temperature, top_k))
        yield ids[-1]


def choose(logits, draw, temperature, top_k):
    """The id at which the distribution of softmax(logits / temperature), of the top_k likeliest, exceeds `draw` in [0, 1)."""
    if np.isnan(logits).any():
        raise ValueError("the model's logits are NaN, its weights diverged: use an older checkpoint, or train it anew")
    if temperature == 0:
        return int(np.argmax(logits))
    if top_k is not None and top_k < len(logits):
        logits = np.where(logits >= np.sort(logits)[-top_k], logits, -np.inf)
    with np.errstate(over="ignore"):  # near temperature 0 all but the likeliest go to -inf
        scaled = (logits - logits.max()) / temperature
    cumulative = np.cumsum(np.exp(scaled))
    return int(np.searchsorted(cumulative, draw * cumulative[-1], side="right"))
