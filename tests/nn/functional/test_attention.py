"""Attention equals its definition in numpy: masks, causality, grouped heads; and so does multi-head attention with all its arguments."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import flow_core as flow
from flow_autograd.testing import check_grads
from flow_core.testing import examples
from flow_nn import functional as F


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def weights_of(scores):
    """softmax along the last dim, zeros for a row of -inf."""
    dead = np.isneginf(scores).all(-1, keepdims=True)
    return np.where(dead, 0, special.softmax(np.where(dead, 0, scores), -1))


def attention(q, k, v, mask=None, causal=False, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return weights_of(scores) @ v


SIZES = st.tuples(st.sampled_from([(), (2,), (2, 3)]), st.integers(1, 4), st.integers(1, 4))


@examples(60)
@given(SIZES, st.sampled_from(["none", "causal", "bool", "float"]), st.sampled_from([None, 0.3]), st.data())
def test_scaled_dot_product_attention(sizes, kind, scale, data):
    lead, queries, keys = sizes
    q, k, v = numbers(*lead, queries, 3), numbers(*lead, keys, 3, seed=1), numbers(*lead, keys, 2, seed=2)
    mask = None
    if kind in ("bool", "float"):
        shape = (*lead, queries, keys) if data.draw(st.booleans()) else (queries, keys)
        mask = numbers(*shape, seed=3)
        mask = mask > 0 if kind == "bool" else mask  # some queries see no key

    def call(q, k, v, *m):
        m = m[0] if m else None if mask is None else flow.tensor(mask)
        return F.scaled_dot_product_attention(q, k, v, m, 0.0, kind == "causal", scale=scale)

    expected = attention(q, k, v, mask, kind == "causal", scale)
    np.testing.assert_allclose(call(*map(flow.tensor, (q, k, v))).numpy(), expected, rtol=1e-10, atol=1e-12)
    check_grads(call, q, k, v, *([mask] if kind == "float" else []))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_narrow_dtypes_are_computed_in_float32(dtype):
    q, k, v = (flow.tensor(numbers(2, 3, 4, seed=s)).to(dtype) for s in range(3))
    y = F.scaled_dot_product_attention(q, k, v, flow.ones(3, 3).to(flow.bool))
    assert y.dtype is q.dtype
    expected = attention(*[t.numpy().astype(np.float64) for t in (q, k, v)])
    np.testing.assert_allclose(y.numpy().astype(np.float64), expected, atol=1e-6 if dtype == "float32" else 1e-2)


def test_grouped_heads_and_batches_that_broadcast():
    q, k, v = numbers(2, 6, 3, 4), numbers(2, 2, 5, 4, seed=1), numbers(2, 2, 5, 4, seed=2)
    y = F.scaled_dot_product_attention(*map(flow.tensor, (q, k, v)), enable_gqa=True).numpy()
    np.testing.assert_allclose(y, attention(q, k.repeat(3, 1), v.repeat(3, 1)))
    y = F.scaled_dot_product_attention(*map(flow.tensor, (q, k[:1, :1], v[:, :1]))).numpy()
    np.testing.assert_allclose(y, attention(q, k[:1, :1], v[:, :1]))


def test_dropout_of_weights_keeps_their_mean():
    flow.manual_seed(0)
    q, k, v = flow.zeros(1, 4), flow.zeros(20000, 4), flow.ones(20000, 1)
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).item()
    assert y != 1
    assert abs(y - 1) < 0.05


Q = flow.ones(2, 3)
REFUSED = [
    (lambda: F.scaled_dot_product_attention(Q, Q, Q, Q, is_causal=True), ValueError, "both"),
    (lambda: F.scaled_dot_product_attention(Q, flow.ones(2, 4), Q), ValueError, "last dim"),
    (lambda: F.scaled_dot_product_attention(Q, Q, flow.ones(3, 3)), ValueError, "last but one"),
    (lambda: F.scaled_dot_product_attention(Q, Q.to("float64"), Q), TypeError, "one dtype"),
    (lambda: F.scaled_dot_product_attention(Q, Q, Q, flow.ones(2, 2).to("int64")), TypeError, "attn_mask"),
    (lambda: F.scaled_dot_product_attention(Q, Q, Q, flow.ones(3, 2, 2)), ValueError, "broadcast"),
    (lambda: F.scaled_dot_product_attention(flow.ones(3), Q, Q), ValueError, "dims"),
    (lambda: F.scaled_dot_product_attention(Q, Q, Q, dropout_p=2.0), ValueError, "probability"),
    (
        lambda: F.scaled_dot_product_attention(
            flow.ones(3, 1, 2), flow.ones(2, 1, 2), flow.ones(2, 1, 2), enable_gqa=True
        ),
        ValueError,
        "do not divide",
    ),
    (lambda: F.scaled_dot_product_attention([1], Q, Q), TypeError, "list"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


L, N, S, E, HEADS = 3, 2, 4, 6, 2
SHAPES = {
    "query": (L, N, E),
    "key": (S, N, E),
    "value": (S, N, E),
    "in_proj_weight": (3 * E, E),
    "in_proj_bias": (3 * E,),
    "bias_k": (1, 1, E),
    "bias_v": (1, 1, E),
    "out_proj_weight": (E, E),
    "out_proj_bias": (E,),
    "attn_mask": (L, S),
    "key_padding_mask": (N, S),
}
ARRAYS = {name: numbers(*shape, seed=i) for i, (name, shape) in enumerate(SHAPES.items())}


def call(arrays, tensors=None, **options):
    """multi_head_attention_forward of arrays by name, those absent None; `tensors` stand for their first ones."""
    made = {name: flow.tensor(a) for name, a in arrays.items()} | (tensors or {})
    fixed = (
        "query key value E heads in_proj_weight in_proj_bias bias_k bias_v zero p out_proj_weight out_proj_bias".split()
    )
    args = {"E": E, "heads": HEADS, "zero": options.pop("add_zero_attn", False), "p": options.pop("dropout_p", 0.0)}
    args = [args.get(name, made.pop(name, None)) for name in fixed]
    return F.multi_head_attention_forward(*args, **made, **options)


def defined(a, add_zero_attn=False):
    """(output, weights of each head) in numpy, an example and a head at a time."""
    w, b = np.split(a["in_proj_weight"], 3), np.split(a.get("in_proj_bias", np.zeros(3 * E)), 3)
    q, k, v = (a[n] @ w[i].T + b[i] for i, n in enumerate(("query", "key", "value")))
    size, extra = E // HEADS, 0
    if "bias_k" in a:
        k, v = (np.concatenate([t, np.repeat(a[n], N, 1)]) for t, n in ((k, "bias_k"), (v, "bias_v")))
        extra += 1
    if add_zero_attn:
        k, v = (np.concatenate([t, np.zeros((1, N, E))]) for t in (k, v))
        extra += 1
    out, weights = np.zeros((L, N, E)), np.zeros((N, HEADS, L, S + extra))
    for n in range(N):
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            scores = q[:, n, part] @ k[:, n, part].T / math.sqrt(size)
            for mask in (a.get("attn_mask"), a["key_padding_mask"][n] if "key_padding_mask" in a else None):
                if mask is not None:
                    mask = mask[n * HEADS + h] if mask.ndim == 3 else mask
                    scores[:, :S] += np.where(mask, -np.inf, 0) if mask.dtype == bool else mask
            weights[n, h] = special.softmax(scores, -1)
            out[:, n, part] = weights[n, h] @ v[:, n, part]
    return out @ a["out_proj_weight"].T + a.get("out_proj_bias", 0), weights


REQUIRED = ["query", "key", "value", "in_proj_weight", "out_proj_weight"]
MASKS = {
    "attn_mask": [np.arange(S) > np.arange(L)[:, None], ARRAYS["attn_mask"], numbers(N * HEADS, L, S, seed=20)],
    "key_padding_mask": [np.array([[False, True, False, False]] * N), ARRAYS["key_padding_mask"]],
}


@examples(60)
@given(st.data())
def test_multi_head_attention_is_its_definition(data):
    arrays = {name: ARRAYS[name] for name in REQUIRED}
    for group in (["in_proj_bias"], ["out_proj_bias"], ["bias_k", "bias_v"]):
        if data.draw(st.booleans()):
            arrays |= {name: ARRAYS[name] for name in group}
    for name, masks in MASKS.items():
        mask = data.draw(st.sampled_from([None, *masks]))
        arrays |= {} if mask is None else {name: mask}
    zero = data.draw(st.booleans())
    expected, weights = defined(arrays, zero)
    close = {"rtol": 1e-9, "atol": 1e-12}
    out, found = call(arrays, add_zero_attn=zero)
    np.testing.assert_allclose(out.numpy(), expected, **close)
    np.testing.assert_allclose(found.numpy(), weights.mean(1), **close)
    out, found = call(arrays, add_zero_attn=zero, average_attn_weights=False)
    np.testing.assert_allclose(found.numpy(), weights, **close)
    out, found = call(arrays, add_zero_attn=zero, need_weights=False)
    np.testing.assert_allclose(out.numpy(), expected, **close)
    assert found is None


def test_without_a_batch():
    arrays = {name: ARRAYS[name] for name in SHAPES}
    whole, weights = call(arrays)
    single = (
        arrays
        | {n: arrays[n][:, 1] for n in ("query", "key", "value")}
        | {"key_padding_mask": arrays["key_padding_mask"][1]}
    )
    for average in (True, False):
        whole, weights = call(arrays, average_attn_weights=average)
        out, found = call(single, average_attn_weights=average)
        np.testing.assert_allclose(out.numpy(), whole.numpy()[:, 1])
        np.testing.assert_allclose(found.numpy(), weights.numpy()[1])
    assert call(single, need_weights=False)[1] is None


def test_separate_weights_static_keys_and_the_causal_hint():
    arrays = {name: ARRAYS[name] for name in (*REQUIRED, "in_proj_bias")}
    expected = call(arrays)[0].numpy()
    w = np.split(ARRAYS["in_proj_weight"], 3)
    separate = {f"{n}_proj_weight": flow.tensor(w[i]) for i, n in enumerate("qkv")}
    rest = {n: a for n, a in arrays.items() if n != "in_proj_weight"}
    out = call(rest, use_separate_proj_weight=True, **separate)[0]
    np.testing.assert_allclose(out.numpy(), expected)
    b = np.split(ARRAYS["in_proj_bias"], 3)
    static = {
        f"static_{n}": flow.tensor(
            (ARRAYS[name] @ w[i].T + b[i]).reshape(S, N * HEADS, E // HEADS).swapaxes(0, 1).copy()
        )
        for n, name, i in (("k", "key", 1), ("v", "value", 2))
    }
    np.testing.assert_allclose(call(arrays, **static)[0].numpy(), expected)
    square = arrays | {"key": ARRAYS["query"], "value": ARRAYS["query"], "attn_mask": np.triu(np.ones((L, L), bool), 1)}
    hinted = call(square, is_causal=True, need_weights=False)[0].numpy()
    np.testing.assert_allclose(hinted, call(square)[0].numpy(), rtol=1e-9)


def test_gradients_of_multi_head_attention():
    names = [*SHAPES]
    check_grads(
        lambda *tensors: call({}, dict(zip(names, tensors, strict=True)), add_zero_attn=True),
        *[ARRAYS[n] for n in names],
    )


def test_dropout_in_training_alone():
    arrays = {name: ARRAYS[name] for name in REQUIRED}
    plain = call(arrays)[1].numpy()
    np.testing.assert_array_equal(call(arrays, dropout_p=0.5, training=False)[1].numpy(), plain)
    flow.manual_seed(0)
    dropped = call(arrays, dropout_p=0.5, average_attn_weights=False)[1].numpy()
    assert (dropped == 0).any()
    assert call(arrays, dropout_p=0.5, need_weights=False)[0].shape == (L, N, E)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"query": np.ones((L, N, E + 1))}, {}, "channels"),
        ({"query": np.ones((L, E))}, {}, "3 dims each"),
        ({"key": np.ones((S + 1, N, E))}, {}, "must agree"),
        ({"query": np.ones((L, N + 1, E))}, {}, "one batch"),
        ({"key_padding_mask": np.ones((S, N))}, {}, "key_padding_mask"),
        ({"attn_mask": np.ones((S, L))}, {}, "attn_mask"),
        ({"in_proj_weight": np.ones((E, E))}, {}, "in_proj_weight"),
        ({"bias_k": np.ones((1, 1, E))}, {}, "both bias_k and bias_v"),
        ({}, {"is_causal": True}, "hint"),
        ({}, {"static_k": flow.ones(1, S, 3)}, "static_k"),
        ({}, {"use_separate_proj_weight": True}, "q_proj_weight"),
    ],
)
def test_what_does_not_fit_multi_head_attention_is_refused(change, options, message):
    with pytest.raises(ValueError, match=message):
        call({name: ARRAYS[name] for name in REQUIRED} | change, **options)
