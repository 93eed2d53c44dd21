"""Text is drawn from the model's distribution: the seed decides, temperature and top_k narrow it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
import flow_nn as nn
from flow_core.testing import examples
from flow_nn.generate import choose

CONFIG = nn.GPTConfig(vocab_size=11, block_size=5, num_layers=1, num_heads=2, num_channels=8)


@pytest.fixture
def model():
    model, rng = nn.GPT(CONFIG), np.random.default_rng(0)
    model.load_state_dict({name: rng.normal(size=t.shape) * 0.5 for name, t in model.state_dict().items()})
    return model.eval()


def draw(model, *args, **kwargs):
    return list(nn.generate(model, *args, **kwargs))


def test_the_same_seed_gives_the_same_ids(model):
    first = draw(model, [1, 2], 30, seed=4)
    flow.rand(3)  # the default generator has no part in it
    assert draw(model, [1, 2], 30, seed=4) == first
    assert draw(model, [1, 2], 30, seed=5) != first
    assert len(first) == 30
    assert all(type(i) is int and 0 <= i < 11 for i in first)


def test_a_shorter_text_is_the_beginning_of_a_longer_one(model):
    assert draw(model, [1], 30)[:10] == draw(model, [1], 10)
    assert draw(model, [1], 0) == []


def test_each_id_is_drawn_after_the_last_ids_that_fit_the_context(model):
    prompt = [3, 1, 4, 1, 5, 9, 2, 6]
    assert draw(model, prompt, 1, temperature=0) == draw(model, prompt[-5:], 1, temperature=0)
    ids = list(prompt)
    for found in draw(model, prompt, 12, temperature=0):
        logits = model(flow.tensor([ids[-5:]])).detach().numpy()[0, -1]
        assert found == int(logits.argmax())
        ids.append(found)


def test_temperature_0_and_top_1_take_the_likeliest(model):
    likeliest = draw(model, [1], 20, temperature=0)
    assert draw(model, [1], 20, temperature=0, seed=9) == likeliest
    assert draw(model, [1], 20, top_k=1, seed=9) == likeliest
    assert draw(model, [1], 20, temperature=1e-300) == likeliest


def test_a_prompt_stays_as_it_is(model):
    prompt = [1, 2]
    draw(model, prompt, 3)
    assert prompt == [1, 2]


def test_drawing_records_no_graph(model):
    draw(model, [1], 2)
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"ids": []}, "the prompt is empty"),
        ({"temperature": -0.1}, "temperature is -0.1, expected a finite number of 0 or more"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"top_k": 0}, "top_k is 0, expected 1 or more"),
        ({"seed": -1}, "seed -1 is not an int"),
    ],
)
def test_what_cannot_be_drawn_is_refused(model, args, said):
    with pytest.raises(ValueError, match=said):
        draw(model, **{"ids": [1], "num_tokens": 1, **args})


logits = st.lists(st.floats(-30, 30), min_size=1, max_size=8).map(np.array)
draws = st.floats(0, 1, exclude_max=True)


@examples(200)
@given(logits, draws, st.floats(0, 5), st.none() | st.integers(1, 9))
def test_an_id_is_chosen_among_the_likeliest(logits, draw, temperature, top_k):
    chosen = choose(logits, draw, temperature, top_k)
    assert 0 <= chosen < len(logits)
    if top_k is not None:
        assert np.count_nonzero(logits > logits[chosen]) < top_k
    if temperature == 0:
        assert logits[chosen] == logits.max()


@examples(100)
@given(logits, st.floats(0.1, 5), st.none() | st.integers(1, 9))
def test_ids_are_chosen_as_often_as_softmax_says(logits, temperature, top_k):
    kept = np.sort(logits)[::-1][: top_k or len(logits)].min()
    weights = np.where(logits >= kept, np.exp((logits - logits.max()) / temperature), 0)
    expected = weights / weights.sum()
    grid = (np.arange(2000) + 0.5) / 2000
    found = np.bincount([choose(logits, u, temperature, top_k) for u in grid], minlength=len(logits)) / 2000
    np.testing.assert_allclose(found, expected, atol=1.001 / 2000)


@pytest.mark.parametrize(("temperature", "top_k"), [(0, None), (0.8, None), (0.8, 1)])
def test_nothing_is_drawn_from_logits_that_are_nan(temperature, top_k):
    with pytest.raises(ValueError, match="logits are NaN, its weights diverged: use an older checkpoint"):
        choose(np.array([0.0, np.nan, 1.0]), 0.5, temperature, top_k)
