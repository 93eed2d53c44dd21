"""GPT: GPT-2's names, its initial weights, its gradients, and that it looks back only."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
import flow_nn as nn
from flow_autograd import no_grad
from flow_core.testing import examples
from flow_nn.functional import token_cross_entropy

CONFIG = nn.GPTConfig(vocab_size=7, block_size=6, num_layers=2, num_heads=2, num_channels=8)


def draw(seed, *shape, high=CONFIG.vocab_size):
    return flow.tensor(np.random.default_rng(seed).integers(0, high, shape))


def scattered(model, seed=0):
    """The model with weights large enough for every part of it to matter."""
    rng = np.random.default_rng(seed)
    state = {name: rng.normal(size=t.shape) * 0.4 for name, t in model.state_dict().items()}
    model.load_state_dict({name: a + name.endswith(("ln_1.weight", "ln_2.weight")) for name, a in state.items()})
    return model


def test_the_state_has_the_names_of_gpt_2():
    block = [
        *(
            "ln_1.weight",
            "ln_1.bias",
            "attn.c_attn.weight",
            "attn.c_attn.bias",
            "attn.c_proj.weight",
            "attn.c_proj.bias",
        ),
        *("ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"),
    ]
    expected = [
        "wte.weight",
        "wpe.weight",
        *[f"h.{i}.{name}" for i in range(2) for name in block],
        "ln_f.weight",
        "ln_f.bias",
    ]
    assert list(nn.GPT(CONFIG).state_dict()) == [f"transformer.{name}" for name in expected]


def test_the_state_has_the_shapes_of_gpt_2_with_heads_apart():
    state = nn.GPT(CONFIG).state_dict()
    shapes = {name.removeprefix("transformer."): t.shape for name, t in state.items()}
    assert shapes["wte.weight"] == (7, 8)
    assert shapes["wpe.weight"] == (6, 8)
    assert shapes["h.1.attn.c_attn.weight"] == (3, 2, 4, 8)
    assert shapes["h.1.attn.c_attn.bias"] == (3, 2, 4)
    assert shapes["h.1.attn.c_proj.weight"] == (8, 2, 4)
    assert shapes["h.1.mlp.c_fc.weight"] == (32, 8)
    assert shapes["h.1.mlp.c_proj.weight"] == (8, 32)
    channels, layers = 8, 2
    count = (7 + 6) * channels + layers * (12 * channels**2 + 13 * channels) + 2 * channels
    assert sum(p.numel() for p in nn.GPT(CONFIG).parameters()) == count


def test_weights_start_as_those_of_gpt_2():
    model = nn.GPT(nn.GPTConfig(vocab_size=65, num_layers=8))
    for name, t in model.state_dict().items():
        values = t.numpy()
        if name.endswith("bias"):
            np.testing.assert_array_equal(values, 0)
        elif ".ln_" in name:
            np.testing.assert_array_equal(values, 1)
        else:
            std = 0.02 / math.sqrt(16) if name.endswith("c_proj.weight") else 0.02
            assert abs(values.mean()) < 5 * std / math.sqrt(values.size)
            assert values.std() == pytest.approx(std, rel=0.05)


def test_weights_depend_on_the_seed_alone():
    def weights(seed):
        flow.manual_seed(seed)
        return [p.detach().numpy().copy() for p in nn.GPT(CONFIG).parameters()]

    for a, b in zip(weights(5), weights(5), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(weights(5)[0], weights(6)[0])


def test_the_first_loss_is_that_of_guessing():
    model = nn.GPT(nn.GPTConfig(vocab_size=65))
    tokens = draw(0, 4, 65, high=65)
    assert token_cross_entropy(model(tokens[:, :-1]), tokens[:, 1:]).item() == pytest.approx(math.log(65), abs=0.1)


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def normalised(x, weight, bias):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias


def plain(state, config, ids):
    """The logits of one row of ids in plain numpy, one head and one token at a time."""
    w = {name.removeprefix("transformer."): t.numpy() for name, t in state.items()}
    head_dim = config.num_channels // config.num_heads
    x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]  # (tokens, channels)
    for i in range(config.num_layers):
        h = {name.removeprefix(f"h.{i}."): a for name, a in w.items() if name.startswith(f"h.{i}.")}
        y = normalised(x, h["ln_1.weight"], h["ln_1.bias"])
        heads = []
        for k in range(config.num_heads):
            q, key, v = (y @ h["attn.c_attn.weight"][j, k].T + h["attn.c_attn.bias"][j, k] for j in range(3))
            rows = []
            for t in range(len(ids)):
                scores = np.exp(q[t] @ key[: t + 1].T / math.sqrt(head_dim))
                rows.append(scores / scores.sum() @ v[: t + 1])
            heads.append(rows)
        mixed = np.concatenate(heads, axis=-1)  # (tokens, channels)
        x = x + mixed @ h["attn.c_proj.weight"].reshape(len(x[0]), -1).T + h["attn.c_proj.bias"]
        y = gelu(normalised(x, h["ln_2.weight"], h["ln_2.bias"]) @ h["mlp.c_fc.weight"].T + h["mlp.c_fc.bias"])
        x = x + y @ h["mlp.c_proj.weight"].T + h["mlp.c_proj.bias"]
    return normalised(x, w["ln_f.weight"], w["ln_f.bias"]) @ w["wte.weight"].T


@pytest.mark.parametrize("tokens", [1, 2, 6])
def test_logits_are_those_of_the_formulas(tokens):
    model = scattered(nn.GPT(CONFIG).to(flow.float64))
    ids = draw(3, 2, tokens)
    logits = model(ids).detach().numpy()
    assert logits.shape == (2, tokens, 7)
    for row, found in zip(ids.numpy(), logits, strict=True):
        np.testing.assert_allclose(found, plain(model.state_dict(), CONFIG, row), rtol=1e-11, atol=1e-11)


def test_gradients_are_those_of_finite_differences():
    model = scattered(nn.GPT(CONFIG).to(flow.float64))
    ids, targets = draw(1, 2, 6), draw(2, 2, 6)

    def loss():
        return token_cross_entropy(model(ids), targets)

    loss().backward()
    rng, eps = np.random.default_rng(0), 1e-5
    for name, p in model.named_parameters():
        direction = rng.uniform(-1, 1, p.shape)
        start, ends = p.detach().numpy().copy(), []
        for sign in (1, -1):
            p.detach().copy_(flow.tensor(start + sign * eps * direction))
            with no_grad():
                ends.append(loss().item())
        p.detach().copy_(flow.tensor(start))
        expected = (ends[0] - ends[1]) / (2 * eps)
        # The difference errs by about eps^2 from curvature and 1e-16 / eps from rounding.
        assert (p.grad.numpy() * direction).sum() == pytest.approx(expected, rel=1e-7, abs=1e-9), name


@examples(30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_a_later_token_changes_no_earlier_logits(seed, changed):
    model = scattered(nn.GPT(CONFIG))
    ids = draw(seed, 3, 6).numpy()
    other = ids.copy()
    other[:, changed:] = (other[:, changed:] + 1) % 7
    before, after = (model(flow.from_numpy(a)).detach().numpy() for a in (ids, other))
    np.testing.assert_array_equal(before[:, :changed], after[:, :changed])
    assert (before[:, changed:] != after[:, changed:]).any(-1).all()


def test_an_earlier_token_changes_later_logits():
    model = scattered(nn.GPT(CONFIG))
    ids = draw(0, 1, 6).numpy()
    other = ids.copy()
    other[:, 0] = (other[:, 0] + 1) % 7
    before, after = (model(flow.from_numpy(a)).detach().numpy() for a in (ids, other))
    assert (before != after).any(-1).all()


def test_rows_of_a_batch_do_not_meet():
    model = scattered(nn.GPT(CONFIG).to(flow.float64))
    ids = draw(0, 4, 6)
    whole = model(ids).detach().numpy()
    for i in range(4):
        np.testing.assert_allclose(model(ids[i : i + 1]).detach().numpy()[0], whole[i], rtol=1e-12, atol=1e-12)


def test_one_batch_is_learnt_by_heart():
    model = nn.GPT(nn.GPTConfig(vocab_size=20, block_size=12, num_layers=2, num_heads=2, num_channels=32))
    tokens = draw(0, 4, 13, high=20)
    optimizer = nn.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    for _ in range(80):
        loss = token_cross_entropy(model(tokens[:, :-1]), tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


def test_dropout_works_in_training_only():
    config = nn.GPTConfig(vocab_size=7, block_size=6, num_layers=1, num_heads=2, num_channels=8, dropout=0.5)
    model, ids = scattered(nn.GPT(config)), draw(0, 1, 6)
    assert not np.array_equal(model(ids).detach().numpy(), model(ids).detach().numpy())
    model.eval()
    np.testing.assert_array_equal(model(ids).detach().numpy(), model(ids).detach().numpy())


def test_more_tokens_than_the_context_are_refused():
    with pytest.raises(ValueError, match="GPT: 7 tokens are more than the context of 6"):
        nn.GPT(CONFIG)(draw(0, 1, 7))


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"vocab_size": 0}, "GPTConfig: vocab_size is 0, expected a positive int"),
        ({"block_size": -1}, "block_size is -1"),
        ({"num_layers": 1.0}, "num_layers is 1.0"),
        ({"num_heads": True}, "num_heads is True"),
        ({"num_channels": "8"}, "num_channels is '8'"),
        ({"num_heads": 3}, "GPTConfig: 128 channels do not divide into 3 heads"),
        ({"dropout": 1.5}, "GPTConfig: dropout is 1.5, expected a probability from 0 to 1"),
        ({"dropout": None}, "GPTConfig: dropout is None"),
    ],
)
def test_sizes_that_make_no_model_are_refused(sizes, said):
    with pytest.raises(ValueError, match=said):
        nn.GPTConfig(**{"vocab_size": 5, **sizes})
