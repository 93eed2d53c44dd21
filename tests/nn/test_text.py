"""Texts become ids; windows of them, shifted by one, are inputs and targets."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_core.testing import examples
from flow_nn.text import (
    decode,
    encode,
    first_prompt,
    minimum_length,
    read_corpus,
    training_batch,
    validation_batches,
)

seeds = st.integers(0, 2**64 - 1)


def batch(*args, **kwargs):
    return [t.numpy() for t in training_batch(*args, **kwargs)]


def test_the_text_that_ships_is_tiny_shakespeare():
    corpus = read_corpus(None, 64)
    assert len(corpus.train) + len(corpus.val) == 1_115_394
    assert len(corpus.train) == 1_003_854
    assert len(corpus.chars) == 65
    text = decode(np.concatenate([corpus.train, corpus.val]), corpus.chars)
    assert text.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n")
    assert hashlib.sha256(text.encode()).hexdigest() == corpus.digest
    assert corpus.digest == "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"


def test_a_text_is_split_into_nine_tenths_and_a_tenth(text):
    corpus = read_corpus(text, 16)
    whole = text.read_text(encoding="utf-8")
    assert (len(corpus.train), len(corpus.val)) == (4500, 500)
    assert decode(corpus.train, corpus.chars) + decode(corpus.val, corpus.chars) == whole
    assert corpus.chars == "".join(sorted(set(whole)))
    assert corpus.train.dtype == np.int64


@examples(60)
@given(st.text(min_size=1))
def test_ids_stand_for_characters_and_back(text):
    chars = "".join(sorted(set(text)))
    ids = encode(text, chars)
    assert ids.dtype == np.int64
    assert decode(ids, chars) == text
    assert set(ids.tolist()) == set(range(len(chars)))


def test_unknown_characters_are_named():
    with pytest.raises(ValueError, match="characters 'xyz' are not in the vocabulary of 3 characters"):
        encode("azaybxz", "abc")


def test_a_text_goes_on_from_a_line_break_if_it_has_any():
    assert first_prompt(" \nab") == "\n"
    assert first_prompt("ab") == "a"


@pytest.mark.parametrize("block_size", [1, 2, 3, 7, 8, 16, 63, 64, 100])
def test_the_least_text_is_the_shortest_that_works(block_size, tmp_path):
    least = minimum_length(block_size)
    path = tmp_path / "text.txt"
    path.write_text("ab" * (least // 2) + "a" * (least % 2))
    corpus = read_corpus(path, block_size)
    for ids in (corpus.train, corpus.val):
        inputs, targets = batch(ids, 0, seed=0, batch_size=2, block_size=block_size)
        assert inputs.shape == targets.shape == (2, block_size)
        assert len(list(validation_batches(ids, batch_size=100, block_size=block_size))) == 1
    path.write_text(path.read_text()[1:])
    with pytest.raises(ValueError, match=f"has {least - 1} characters; a context of {block_size} needs {least} "):
        read_corpus(path, block_size)


def test_no_shorter_text_leaves_a_window_to_validate():
    for block_size in range(1, 200):
        fits = [n for n in range(1, 12 * block_size) if n - 9 * n // 10 >= block_size + 1]
        assert minimum_length(block_size) == fits[0]


@examples(60)
@given(st.integers(1, 20), st.integers(1, 30), seeds, st.integers(0, 10**6), st.integers(1, 5))
def test_targets_are_the_characters_that_follow(block_size, more, seed, step, batch_size):
    ids = np.arange(block_size + more) * 7
    inputs, targets = batch(ids, step, seed=seed, batch_size=batch_size, block_size=block_size)
    assert inputs.shape == targets.shape == (batch_size, block_size)
    assert inputs.dtype == targets.dtype == np.int64
    np.testing.assert_array_equal(targets, inputs + 7)
    np.testing.assert_array_equal(np.diff(inputs), np.full((batch_size, block_size - 1), 7))
    assert inputs.min() >= 0
    assert targets.max() <= ids[-1]


def test_every_window_is_drawn_about_equally_often():
    inputs, _ = batch(np.arange(10), 0, seed=0, batch_size=7000, block_size=3)
    starts = np.bincount(inputs[:, 0])
    assert len(starts) == 7
    np.testing.assert_allclose(starts, 1000, atol=5 * 30)


@examples(30)
@given(seeds, st.integers(0, 10**6))
def test_a_batch_depends_on_seed_and_step_alone(seed, step):
    ids = np.arange(1000)

    def draw(seed, step):
        return batch(ids, step, seed=seed, batch_size=12, block_size=8)

    first = draw(seed, step)
    other = [draw(seed, step + 1), draw((seed + 1) % 2**64, step)]
    for a, b in zip(draw(seed, step), first, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not any(np.array_equal(o[0], first[0]) for o in other)


@examples(60)
@given(st.integers(1, 8), st.integers(0, 60), st.integers(1, 5))
def test_validation_takes_each_window_once(block_size, more, batch_size):
    ids = np.arange(block_size + 1 + more)
    parts = [
        tuple(t.numpy() for t in pair) for pair in validation_batches(ids, batch_size=batch_size, block_size=block_size)
    ]
    inputs, targets = (np.concatenate([pair[i] for pair in parts]) for i in range(2))
    assert inputs.shape[1] == block_size
    assert all(1 <= len(pair[0]) <= batch_size for pair in parts)
    np.testing.assert_array_equal(inputs.reshape(-1), ids[: inputs.size])
    np.testing.assert_array_equal(targets, inputs + 1)
    assert len(ids) - 1 - inputs.size < block_size


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist: give the path of a UTF-8 text file"),
        ("folder", "is a directory: give the path of a UTF-8 text file"),
        (b"", "is empty: give a file with text in it"),
        (b"caf\xe9" * 100, r"is not UTF-8 \(byte 3\): convert it first"),
        (
            b"a" * 80,
            r"has 80 characters; a context of 8 needs 81 \(the last tenth, .*\): give a longer text or a smaller",
        ),
    ],
)
def test_files_that_are_no_text_are_refused_by_name(content, said, tmp_path):
    path = tmp_path / "text.txt"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"text {path} {said}") as error:
        read_corpus(path, 8)
    assert "\n" not in str(error.value)


def test_a_path_that_cannot_be_a_file_is_refused():
    for path in (Path("x" * 300), Path(__file__) / "text.txt"):
        with pytest.raises(ValueError, match=r"text .* cannot be read: "):
            read_corpus(path, 8)


def test_line_breaks_are_one_character_wherever_the_text_comes_from(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\r\nb\n" * 10)
    assert read_corpus(path, 1).chars == "\nab"
