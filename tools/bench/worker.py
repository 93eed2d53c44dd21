"""A worker: a process that does one request at a time and sleeps between them. Requests and replies are JSON, one a line.

`Worker` is the end that asks, `serve` the loop of the process that answers. Both sides of a comparison are workers, so that
neither shares a process, its threads or its memory with the other. The standard library is all it needs: the peer's
environment runs it too.
"""

import json
import os
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent

# What the libraries of either side read, before they are imported, to decide on their number of threads.
THREAD_VARIABLES = ["FLOW_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]


class Failure(Exception):
    """Why there is nothing to report, in one line."""

    status = 1


class NotReady(Failure):
    """What is missing before anything can be measured, and what to do."""

    status = 2


def start_ours(num_threads):
    """A Worker that runs worker_flow.py, in the environment that this process is in."""
    return Worker("ours", [sys.executable, str(HERE / "worker_flow.py")], num_threads)


def num_cores():
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class Worker:
    """A process started by `command` that runs with `num_threads` threads; use it as a context."""

    def __init__(self, name, command, num_threads):
        self.name = name
        environ = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(num_threads))}
        pipe = subprocess.PIPE
        # A group of its own: ctrl-C reaches only the asking end, which then ends the workers.
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environ, process_group=0)
        try:
            self.versions = self("hello", num_threads=num_threads)
        except BaseException:
            self.close()
            raise

    def __call__(self, what, **arguments):
        """The reply to a request. The worker starts on it now and has ended with it when this returns."""
        try:
            self.process.stdin.write(json.dumps({"what": what, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self.process.wait()
            raise Failure(f"the worker {self.name!r} ended with status {status} at {what!r}; what it said stands above")
        reply = json.loads(line)
        if "error" in reply:
            raise Failure(f"the worker {self.name!r} failed at {what!r}: {reply['error']}")
        return reply["result"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Ends the process, whatever it is at."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with suppress(BrokenPipeError):  # of a request that was never read
            self.process.stdin.close()


def serve(handlers):
    """Answers requests with the functions in `handlers`, by name, until the asking end closes."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no reply
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"result": handlers[request.pop("what")](**request)}
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(reply), file=replies, flush=True)


def peak_memory():
    """The most memory that this process has held, in MB (10^6 bytes), libraries included; None where the system does not say."""
    try:
        with open("/proc/self/status") as status:
            lines = [line for line in status if line.startswith("VmHWM:")]
    except FileNotFoundError:
        return None
    return int(lines[0].split()[1]) * 1024 / 1e6 if lines else None
