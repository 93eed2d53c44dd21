"""Our worker: the stack at the statements, and at the main job, whose weights and batches it hands out to the peer."""

import platform
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
from blocks import Statements
from worker import peak_memory, serve

import flow_core as flow
import flow_kernels
from flow_nn.models.gpt import GPTConfig
from flow_nn.run import Run, Settings
from flow_nn.text import read_corpus, training_batch

state = {}


def hello(num_threads):
    assert flow_kernels.get_num_threads() == num_threads  # as FLOW_NUM_THREADS says
    versions = {name: version(name) for name in ("flow-core", "flow-kernels", "flow-nn", "numpy")}
    return {**versions, "Python": platform.python_version()}


def statements():
    if "statements" not in state:
        state["statements"] = Statements(lambda rows, grad: flow.tensor(rows, requires_grad=grad))
    return state["statements"]


def value(statement, result):
    return statements().value(statement, result)


def fastest(statement, num_blocks, block_seconds):
    return statements().fastest(statement, num_blocks, block_seconds)


def begin(folder, num_steps):
    """Makes the run that `python -m flow_nn train` makes by default; writes its weights and the batches and learning rates of its
    steps to `folder`, and returns what else the peer must know."""
    settings, folder = Settings(), Path(folder)
    block_size = GPTConfig(vocab_size=1).block_size
    corpus = read_corpus(None, block_size)
    config = GPTConfig(len(corpus.chars), block_size)
    run = state["run"] = Run(corpus, config, settings, folder)
    np.savez(folder / "weights.npz", **{name: p.detach().numpy() for name, p in run.model.named_parameters()})
    shape = {"batch_size": settings.batch_size, "block_size": block_size}
    batches = [training_batch(corpus.train, step, seed=settings.seed, **shape) for step in range(num_steps)]
    np.savez(
        folder / "batches.npz",
        inputs=np.stack([inputs.numpy() for inputs, _ in batches]),
        targets=np.stack([targets.numpy() for _, targets in batches]),
        rates=[settings.learning_rate(step) for step in range(num_steps)],
    )
    sizes = {key: size for key, size in asdict(config).items() if key != "dropout"}
    kept = {"betas": settings.betas, "weight_decay": settings.weight_decay, "max_norm": settings.max_norm}
    return {"sizes": sizes, "batch_size": settings.batch_size, "settings": kept}


def train(num_steps):
    """The losses of the next steps, and the seconds they take together; the trainer draws its batches itself."""
    start = time.perf_counter()
    losses = [state["run"].train_step() for _ in range(num_steps)]
    return {"losses": losses, "seconds": time.perf_counter() - start}


def matmul(size, num_products):
    """Seconds of the fastest float32 product of square matrices."""
    a, b, out = (np.random.default_rng(0).random((size, size), np.float32) for _ in range(3))
    seconds = []
    for _ in range(num_products):
        start = time.perf_counter()
        np.matmul(a, b, out=out)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    serve({f.__name__: f for f in (hello, value, fastest, begin, train, matmul, peak_memory)})
