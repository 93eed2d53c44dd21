"""Rows of ours beside ours: what a global tensor costs an op, and what a second rank brings to the main job."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import report
import worker

WORKER = Path(__file__).with_name("worker_ranks.py")
TIME_LIMIT = 300  # seconds for one job


def overhead():
    """The Row of an add of 16x16 on a global tensor beside one on a plain tensor."""
    times = job(["overhead"])
    note = f"a global op costs {times['global'] - times['plain']:.1f} us over its local one"
    return report.Row(
        "global_add_16x16", "us", times["global"], times["plain"], times["plain"] / times["global"], note=note
    )


def second_rank(num_turns=3):
    """The Row of tokens a second at dp = 2 beside one rank, one thread a rank, the two started in turns."""
    two, one = [], []
    mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", sys.executable, "-m", "mpi4py"]
    for _ in range(num_turns):
        two += job(["train"], mpiexec)
        one += job(["train"])
    ratio = median(two) / median(one)
    return report.Row(
        "train_tokens_per_s_dp2",
        "tokens/s",
        median(two),
        median(one),
        ratio,
        note="beside one rank of ours, one thread each",
    )


def job(arguments, launcher=(sys.executable,)):
    """What a worker's rank 0 tells."""
    environment = os.environ | dict.fromkeys(("FLOW_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            [*launcher, str(WORKER), *arguments], capture_output=True, text=True, timeout=TIME_LIMIT, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise worker.Failure(f"{' '.join(arguments)} over ranks did not run: {error}") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        raise worker.Failure(
            f"{' '.join(arguments)} over ranks failed (status {done.returncode}): {done.stderr[-500:]}"
        )
    return json.loads(lines[-1].removeprefix("RESULT "))
