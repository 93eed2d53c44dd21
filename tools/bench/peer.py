"""The peer, PyTorch, in an environment of its own: .bench at the root of the repository, made on first use by plain pip.

It is separate from .venv so that nothing of the stack can come to lean on the peer. The record is written last: an environment
whose making was interrupted is made again.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

from worker import HERE, NotReady, Worker

VENV = HERE.parents[1] / ".bench"
PYTHON = VENV / "bin" / "python"
RECORD = VENV / "requirements.txt"
LOG = VENV / "install.log"
REQUIREMENTS = ["torch==2.13.0", "numpy"]
MISLEADING = {"PIP_TARGET", "PIP_USER", "PYTHONHOME", "PYTHONPATH"}  # they lead elsewhere than .bench


def start(num_threads):
    """A Worker that runs peer_torch.py."""
    make_ready()
    # -Es: no PYTHON* variable and no user's packages lead it to other packages than those of .bench
    return Worker("peer", [str(PYTHON), "-Es", str(HERE / "peer_torch.py")], num_threads)


def make_ready():
    """Makes .bench unless it is whole. NotReady says in one line why it cannot."""
    if is_whole():
        return
    with alone():
        if not is_whole():  # still, after waiting for another start
            make()


def is_whole():
    return RECORD.exists() and RECORD.read_text().split() == REQUIREMENTS and PYTHON.exists()


def make():
    """An empty environment, then the requirements, then the record."""
    begin = time.monotonic()
    say(f"making .bench with {' and '.join(REQUIREMENTS)}; this is done once and takes minutes")
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    call([sys.executable, "-m", "venv", str(VENV)])
    call([str(PYTHON), "-m", "pip", "install", *REQUIREMENTS])
    call([str(PYTHON), "-Es", "-c", "import torch, numpy; torch.ones(1).numpy()"])
    RECORD.write_text("\n".join(REQUIREMENTS) + "\n")
    say(f".bench is ready after {time.monotonic() - begin:.0f} s")


def call(command):
    """Runs a command with its output in the log."""
    environ = {key: value for key, value in os.environ.items() if key not in MISLEADING}
    with open(LOG, "a+", errors="replace") as log:
        begin = log.tell()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ)
        log.seek(begin)
        lines = [line.strip() for line in log if line.strip()]
    if done.returncode:
        errors = [line for line in lines if line.startswith("ERROR: ")] or lines or ["it said nothing"]
        raise NotReady(
            f"the peer's environment .bench cannot be made: {errors[-1][:200]}. It needs a Python with venv, and a package index "
            f"once: check the network and pip's settings, then start again; all output is in {LOG}"
        )


@contextmanager
def alone():
    """Holds the lock, which is this folder, so that one start at a time makes .bench."""
    descriptor = os.open(HERE, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another start to make .bench")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def say(line):
    print(f"tools/bench: {line}", file=sys.stderr, flush=True)
