"""Random numbers: the published generator, the same numbers however a tensor is split, and the moments they should have."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.ops.random import philox
from flow_core.testing import examples

# kat_vectors of the Random123 distribution, philox 4x32 10: counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
FLOATS = [flow.float32, flow.float64, flow.bfloat16, flow.float16]
DRAWS = {
    "uniform": lambda **attrs: flow.uniform(7, 3, **attrs),
    "uniform f64": lambda **attrs: flow.uniform(7, 3, dtype=flow.float64, **attrs),
    "uniform bf16": lambda **attrs: flow.uniform(7, 3, dtype=flow.bfloat16, low=-1, high=1, **attrs),
    "normal": lambda **attrs: flow.OPS["normal"](7, 3, **attrs),
    "integers": lambda **attrs: flow.integers(7, 3, low=-5, high=1000, **attrs),
    "dropout": lambda shape, **attrs: flow.dropout_mask(flow.ones(*shape), 7, 3, p=0.5, **attrs),
}


def hexadecimal(line):
    return [int(word, 16) for word in line.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_philox_gives_the_known_answers(counter, key, result):
    c0, c1, c2, c3 = hexadecimal(counter)
    k0, k1 = hexadecimal(key)
    words = philox(np.array([c0 | c1 << 32], np.uint64), c2 | c3 << 32, k0 | k1 << 32)
    assert [int(w[0]) for w in words] == hexadecimal(result)


def test_an_element_is_its_word_of_its_block():
    """The numbers are fixed for ever: element i of call c under seed s is word i % 4 of block i // 4 at counter (i // 4, c)."""
    words = philox(np.arange(2, dtype=np.uint64), 3, 7)
    expected = np.stack(words, axis=-1).reshape(-1) >> np.uint64(8)
    assert (flow.uniform(7, 3, shape=(8,)).data * 2**24).astype(np.uint64).tolist() == expected.tolist()
    zeros = flow.uniform(0, 0, shape=(1,), dtype=flow.float64).item()
    assert zeros == ((0x6627E8D5 >> 5) * 2**26 + (0xE169C58D >> 6)) * 2.0**-53


@pytest.mark.parametrize("name", DRAWS)
def test_a_window_has_the_numbers_of_the_whole_for_any_split(name):
    @examples(60)
    @given(st.data())
    def law(data):
        shape = tuple(data.draw(st.lists(st.integers(0, 7), max_size=3)))
        whole = DRAWS[name](shape=shape)
        starts = tuple(data.draw(st.integers(0, n)) for n in shape)
        sizes = tuple(data.draw(st.integers(0, n - s)) for n, s in zip(shape, starts, strict=True))
        part = DRAWS[name](shape=sizes, window=(shape, starts))
        expected = whole.data[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]
        assert part.data.tobytes() == np.ascontiguousarray(expected).tobytes()

    law()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", DRAWS)
def test_the_shards_of_a_tensor_join_to_the_whole(name, dim):
    shape, sizes = (5, 9), ([2, 0, 3], [4, 4, 1])[dim]
    starts = np.cumsum([0, *sizes[:-1]])
    parts = []
    for n, start in zip(sizes, starts, strict=True):
        piece, at = [*shape], [0, 0]
        piece[dim], at[dim] = n, int(start)
        parts.append(DRAWS[name](shape=tuple(piece), window=(shape, tuple(at))))
    assert flow.cat(parts, dim=dim).data.tobytes() == DRAWS[name](shape=shape).data.tobytes()


def test_a_window_far_into_a_huge_tensor_costs_what_it_holds():
    part = flow.uniform(0, 0, shape=(2, 3), window=((2**31, 2**31), (2**31 - 2, 2**31 - 3)))
    assert np.unique(part.data).size == 6


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (((4, 4), (3, 0)), "does not lie in"),
        (((4,), (0,)), "number of dims"),
        (((4, 4), (-1, 0)), "negative"),
    ],
)
def test_a_window_must_lie_in_its_tensor(window, said):
    with pytest.raises(ValueError, match=said):
        flow.uniform(0, 0, shape=(2, 2), window=window)


def test_different_seeds_calls_and_places_give_different_numbers():
    draws = [flow.uniform(s, c, shape=(50,)).data for s in (0, 1, 2**32, 2**63) for c in (0, 1, 2**32)]
    assert np.unique(np.concatenate(draws)).size > 0.99 * 600  # 24 bits: two of 600 meet with probability 1 %
    for i, a in enumerate(draws):
        for b in draws[:i]:
            assert not np.array_equal(a, b)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_numbers_have_the_moments_of_the_interval(dtype):
    n = 200_000
    x = flow.uniform(1, 0, shape=(n,), low=-1, high=3, dtype=dtype).data.astype(np.float64)
    # Six standard errors of the mean and of the variance (the variance of (x - mean)^2 is 4^4 / 180), and the dtype's grid.
    grid = {flow.bfloat16: 2.0**-7, flow.float16: 2.0**-10}.get(dtype, 1e-6)
    assert abs(x.mean() - 1) < 6 * math.sqrt(16 / 12 / n) + grid
    assert abs(x.var() - 16 / 12) < 6 * math.sqrt(256 / 180 / n) + 4 * grid
    counts, _ = np.histogram(x, bins=16, range=(-1, 3))
    assert np.all(np.abs(counts / n - 1 / 16) < 6 * math.sqrt(1 / 16 / n) + grid)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_numbers_are_in_the_half_open_interval(dtype):
    @examples(40)
    @given(st.integers(0, 2**40), st.floats(-4, 4, width=32), st.floats(0, 4, width=32))
    def law(seed, low, span):
        high = low + span
        assume(low < high)
        x = flow.uniform(seed, 0, shape=(2000,), low=low, high=high, dtype=dtype).data.astype(np.float64)
        assert np.all(x < high)
        # Where `low` is none of the dtype's numbers, its neighbour counts; where the interval holds none, the one below it.
        assert np.all(x >= np.float64(np.asarray(low, dtype))) or np.unique(x).size == 1

    law()


def test_no_16_bit_uniform_number_is_1():
    for dtype in (flow.bfloat16, flow.float16):
        x = flow.rand(100_000, dtype=dtype, generator=flow.Generator(0)).data.astype(np.float64)
        assert x.max() < 1
        assert x.min() == 0
        bits = 8 if dtype is flow.bfloat16 else 11
        assert set(np.unique(x * 2**bits)) == set(range(2**bits))


def test_normal_numbers_have_the_moments_of_the_normal_distribution():
    n = 200_000
    z = flow.OPS["normal"](2, 0, shape=(n,), mean=1, std=2, dtype=flow.float64).data
    u = (z - 1) / 2
    # Six standard errors of the first four moments: their variances are 1, 2, 15, and 96.
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((u**power).mean() - moment) < 6 * math.sqrt(variance / n)
    inside = (np.abs(u) < 1).mean()
    assert abs(inside - math.erf(1 / math.sqrt(2))) < 6 * math.sqrt(0.25 / n)
    pairs = u.reshape(-1, 2)
    assert abs((pairs[:, 0] * pairs[:, 1]).mean()) < 6 / math.sqrt(n / 2)
    assert np.isfinite(u).all()


def test_integers_are_even_over_their_range():
    n, low, high = 70_000, -3, 4
    x = flow.integers(0, 0, shape=(n,), low=low, high=high).data
    counts = np.bincount(x - low, minlength=high - low)
    assert counts.size == high - low
    p = 1 / (high - low)
    assert np.all(np.abs(counts / n - p) < 6 * math.sqrt(p / n))


def test_integers_of_the_whole_range_of_int64():
    x = flow.integers(0, 0, shape=(1000,), low=-(2**63), high=2**63).data
    assert x.dtype == np.int64
    assert 400 < (x < 0).sum() < 600
    assert flow.integers(0, 0, shape=(), low=2**63 - 1, high=2**63).item() == 2**63 - 1
    with pytest.raises(ValueError, match="in the range of int64"):
        flow.integers(0, 0, shape=(1,), low=0, high=2**64)


def test_a_generator_continues_from_a_saved_state():
    generator = flow.Generator(seed=5)
    first = flow.rand(3, generator=generator)
    state = generator.get_state()
    second = flow.randn(3, generator=generator)
    other = flow.Generator()
    other.set_state(state)
    assert flow.randn(3, generator=other).tolist() == second.tolist()
    generator.set_state(state)
    assert flow.randn(3, generator=generator).tolist() == second.tolist()
    generator.manual_seed(5)
    assert flow.rand(3, generator=generator).tolist() == first.tolist()
    assert flow.rand(3, generator=generator).tolist() != first.tolist()
    assert state == {"seed": 5, "calls": 1}


def test_the_default_generator_is_seeded_by_manual_seed():
    before = flow.default_generator.get_state()
    try:
        flow.manual_seed(11)
        a = [flow.rand(2).tolist(), flow.randn(2).tolist(), flow.randint(0, 99, (2,)).tolist()]
        flow.manual_seed(11)
        assert [flow.rand(2).tolist(), flow.randn(2).tolist(), flow.randint(0, 99, (2,)).tolist()] == a
    finally:
        flow.default_generator.set_state(before)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, None, "a"])
def test_a_seed_is_an_int_below_two_to_the_64(seed):
    with pytest.raises(ValueError, match="is not an int in"):
        flow.Generator(seed)


def test_dropout_sets_a_share_p_to_0_and_scales_the_rest():
    n, p = 100_000, 0.3
    x = flow.ones(n)
    y = flow.dropout(x, p, generator=flow.Generator(1)).data
    assert set(np.unique(y)) == {0, np.float32(1 / 0.7)}
    assert abs((y == 0).mean() - p) < 6 * math.sqrt(p * (1 - p) / n)
    assert flow.dropout(x, p, training=False) is x
    assert flow.dropout(x, 0.0) is x
    assert flow.dropout(flow.full((9,), math.inf), 1.0).tolist() == [0] * 9
