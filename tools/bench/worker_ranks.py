"""One job over however many ranks started it, told as a line of JSON by rank 0: the training steps over dp, or the cost of an op.

worker_ranks.py train | overhead
"""

import json
import sys
import tempfile
import time
from statistics import median

import flow_core as flow
from flow_nn.launch import join_ranks, ranks_given
from flow_nn.models.gpt import GPTConfig
from flow_nn.parallel import Mesh
from flow_nn.run import Run, Settings
from flow_nn.text import read_corpus
from flow_sbp import Placement, spmd
from flow_sbp.global_tensor import distribute

NUM_WARM, NUM_TURNS, NUM_STEPS = 20, 5, 10


def train():
    """Tokens a second of the main job, one number a turn."""
    given = ranks_given()
    comm = join_ranks(given[1], quiet=True) if given else None
    settings, corpus = Settings(), read_corpus(None, GPTConfig(vocab_size=1).block_size)
    config = GPTConfig(len(corpus.chars))
    with tempfile.TemporaryDirectory() as folder:
        run = Run(corpus, config, settings, folder, Mesh(dp=given[1]) if given else Mesh(), comm)
        for _ in range(NUM_WARM):
            run.train_step()
        tokens, speeds = NUM_STEPS * settings.batch_size * config.block_size, []
        for _ in range(NUM_TURNS):
            start = time.perf_counter()
            for _ in range(NUM_STEPS):
                run.train_step()
            speeds.append(tokens / (time.perf_counter() - start))
    return speeds if run.leads else None


def overhead():
    """Microseconds of an add of 16x16 on plain and on global tensors, medians of blocks taken in turns."""

    def on_rank(comm):
        x = flow.ones(16, 16)
        g = distribute(x, Placement([0], ["dp"]), ["S(0)"], comm=comm)
        times = {"plain": [], "global": []}
        for _ in range(21):
            for name, t in (("plain", x), ("global", g)):
                start = time.perf_counter()
                for _ in range(2000):
                    t + t
                times[name].append((time.perf_counter() - start) / 2000 * 1e6)
        return {name: median(blocks) for name, blocks in times.items()}

    return spmd(1, on_rank)[0]


if __name__ == "__main__":
    result = {"train": train, "overhead": overhead}[sys.argv[1]]()
    if result is not None:
        print("RESULT " + json.dumps(result), flush=True)
