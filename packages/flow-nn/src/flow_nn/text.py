"""Text as character numbers: the vocabulary, the split into training and validation, and the batch of each step."""

import gzip
import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

import flow_core as flow


@dataclass(frozen=True)
class Corpus:
    """A text as int64 ids of its characters."""

    name: str
    chars: str  # the vocabulary: character i of it has id i
    digest: str  # SHA-256 of the text as UTF-8, by which a checkpoint knows it
    train: np.ndarray  # the first nine tenths
    val: np.ndarray


def read_corpus(path, block_size):
    """The Corpus of a UTF-8 text file, of tiny Shakespeare for None. ValueError if there is no text or too little for the context."""
    if path is None:
        name = "tiny Shakespeare"
        text = gzip.decompress(resources.files("flow_nn").joinpath("data/tinyshakespeare.txt.gz").read_bytes()).decode()
    else:
        name, text = str(path), read_text(Path(path))
    needed = minimum_length(block_size)
    if len(text) < needed:
        raise ValueError(
            f"text {name} has {len(text)} characters; a context of {block_size} needs {needed} (the last tenth, which validates, must "
            "hold one window): give a longer text or a smaller --context"
        )
    chars = "".join(sorted(set(text)))
    ids = encode(text, chars)
    cut = 9 * len(ids) // 10
    return Corpus(name, chars, hashlib.sha256(text.encode()).hexdigest(), ids[:cut], ids[cut:])


def minimum_length(block_size):
    """The fewest characters whose last tenth holds a window of block_size ids and the one that follows each."""
    return 10 * block_size + 1  # a tenth, rounded up, is block_size + 1


def read_text(path):
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "is a directory" if isinstance(error, IsADirectoryError) else "does not exist"
        raise ValueError(f"text {path} {what}: give the path of a UTF-8 text file") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"text {path} is not UTF-8 (byte {error.start}): convert it first") from None
    except OSError as error:
        raise ValueError(f"text {path} cannot be read: {error.strerror}") from None
    if not text:
        raise ValueError(f"text {path} is empty: give a file with text in it")
    return text


def encode(text, chars):
    """The ids of `text`, int64; ValueError for a character that is not in `chars`."""
    place = {c: i for i, c in enumerate(chars)}
    unknown = sorted(set(text) - place.keys())
    if unknown:
        raise ValueError(f"characters {''.join(unknown[:10])!r} are not in the vocabulary of {len(chars)} characters")
    return np.array([place[c] for c in text], np.int64)


def first_prompt(chars):
    """What a text goes on from if nobody says: a line break, or the first character of a vocabulary that has none."""
    return "\n" if "\n" in chars else chars[0]


def decode(ids, chars):
    """The text of ids."""
    return "".join(chars[i] for i in ids)


def training_batch(ids, step, *, seed, batch_size, block_size):
    """(inputs, targets), int64 (batch_size, block_size) each: windows of `ids` drawn at random, and the characters that follow.

    They depend on seed and step alone, so a run that resumes meets the batches it would have met.
    """
    starts = flow.integers(seed, step, shape=(batch_size,), low=0, high=len(ids) - block_size).numpy()
    windows = ids[starts[:, None] + np.arange(block_size + 1)]  # (batch, block + 1)
    return flow.from_numpy(np.ascontiguousarray(windows[:, :-1])), flow.from_numpy(np.ascontiguousarray(windows[:, 1:]))


def validation_batches(ids, *, batch_size, block_size):
    """Yields (inputs, targets) over all windows of block_size that follow one another in `ids`."""
    count = (len(ids) - 1) // block_size
    inputs = ids[: count * block_size].reshape(count, block_size)
    targets = ids[1 : count * block_size + 1].reshape(count, block_size)
    for i in range(0, count, batch_size):
        yield tuple(flow.from_numpy(np.ascontiguousarray(part[i : i + batch_size])) for part in (inputs, targets))
