"""A run whose loss is no number any more ends at once, with its last good checkpoint."""

import json
import math

import numpy as np
import pytest

from flow_nn import checkpoint
from flow_nn.models.gpt import GPTConfig
from flow_nn.run import Settings
from flow_nn.text import read_corpus
from flow_nn.train import Diverged, train


def test_a_run_that_diverges_ends_and_keeps_its_good_checkpoint(tmp_path, text):
    corpus = read_corpus(text, 16)
    config = GPTConfig(len(corpus.chars), 16, 1, 2, 16)
    settings = Settings(steps=50, batch_size=2, peak_lr=1e25, num_warmup=0, checkpoint_every=1, validate_every=100)
    with np.errstate(all="ignore"), pytest.raises(Diverged, match="has diverged and ends here") as caught:
        train(corpus, config, settings, tmp_path / "run")
    newest = checkpoint.latest(tmp_path / "run/checkpoints")
    assert str(newest) in str(caught.value)
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert all(math.isfinite(line["loss"]) for line in lines)
    _, _, step = checkpoint.load(newest)
    assert step == lines[-1]["step"] < 50
