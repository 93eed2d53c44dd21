"""Ranks: starting them, or finding oneself among them."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from flow_sbp.global_tensor import set_comm

# How the launchers tell a process how many ranks there are.
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
NOTES = "FLOW_NOTES"  # the folder where ranks that we started leave notes for who started them

# A rank and who watches it: when a rank is killed, mpiexec kills the others and then names any of them. So a shell, of which mpiexec
# knows, writes down how its rank ended before mpiexec can learn of it.
WATCHED = f'"$@"; status=$?; echo $status >"${NOTES}/ended_${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}"; exit $status'

ENDING_SECONDS = 5.0  # for mpiexec to end the ranks when told to, for rank 0 to say what is wrong
PATIENCE_SECONDS = 1.5  # for mpiexec to end the ranks when one has ended
DRAIN_SECONDS = 0.5  # for mpiexec to take what a rank has said: it drops what it has not when a rank aborts
POLL_SECONDS = 0.2


def ranks_given():
    """(rank, number of ranks) if a launcher started this process, else None."""
    size = next((os.environ[name] for name in SIZE_VARIABLES if name in os.environ), None)
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), None)
    return None if size is None or rank is None else (int(rank), int(size))


def start_ranks(num_ranks, arguments):
    """Runs `python -m flow_nn ARGUMENTS` on so many new ranks of this machine; returns the exit status, 0, 1 or 2.

    If one ends before its time, all end, and a line names it. An interrupt (SIGINT, SIGTERM, SIGHUP) ends them all.
    """
    environment = os.environ | environment_of(num_ranks)
    rank = [sys.executable, "-m", "mpi4py", "-m", "flow_nn", *arguments]
    command = [find_mpiexec(), "-n", str(num_ranks), "sh", "-c", WATCHED, "sh", *rank]
    said = bytearray()
    with tempfile.TemporaryDirectory() as folder, interrupting():
        environment[NOTES] = folder
        pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env=environment, **pipes) as process:
            try:
                watch(process, folder, said)
                status = process.wait()
            except BaseException:
                end(process)
                end_line(said)
                raise
        notes = Notes(folder)
        if status == 0 and len(notes.done) == num_ranks:
            return 0
        if notes.refused:
            return 2
        end_line(said)
        print(f"flow_nn: {notes.who_failed(said)}; go on from the last checkpoint with --resume", file=sys.stderr)
        return 1


def find_mpiexec():
    """The path of mpiexec. ValueError if it or mpi4py is missing."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise ValueError("several ranks need mpiexec, which is missing: pip install 'flow-nn[mpi]'")
    if find_spec("mpi4py") is None:
        raise ValueError("several ranks need mpi4py, which is missing: pip install 'flow-nn[mpi]'")
    return found


def environment_of(num_ranks):
    """The variables that share this machine's cores among so many ranks."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    names = ("FLOW_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    variables = dict.fromkeys(names, str(max(cores // num_ranks, 1)))
    if num_ranks > cores:  # ranks that wait must let the others compute
        variables["MPIR_CVAR_ENABLE_HEAVY_YIELD"] = "1"
    return variables


@contextmanager
def interrupting():
    """Turns the signals that ask a process to end into KeyboardInterrupt, unless somebody else handles them."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    ours = [s for s in (signal.SIGTERM, signal.SIGHUP) if main and signal.getsignal(s) is signal.SIG_DFL]
    for s in ours:
        signal.signal(s, interrupt)
    try:
        yield
    finally:
        for s in ours:
            signal.signal(s, signal.SIG_DFL)


def watch(process, folder, said):
    """Passes on what the ranks write to stderr until mpiexec has ended, and keeps the last of it in `said`.

    Ends mpiexec where a rank has ended before its time and mpiexec, which should end the others, does not: it misses some.
    """
    stream, seen = process.stderr, None
    while True:
        if select.select([stream], [], [], POLL_SECONDS)[0]:
            chunk = os.read(stream.fileno(), 65536)
            if not chunk:
                return
            sys.stderr.buffer.write(chunk)
            sys.stderr.buffer.flush()
            said += chunk
            del said[:-16384]
        if seen is None and Notes(folder).first is not None:
            seen = time.monotonic()
        if seen is not None and time.monotonic() - seen > PATIENCE_SECONDS:
            end(process)
            return


def end_line(said):
    """Ends a line of progress, so that what follows has one of its own."""
    if said and not said.endswith(b"\n"):
        print(file=sys.stderr)


def end(process):
    """Ends mpiexec, which ends its ranks."""
    process.terminate()
    try:
        process.communicate(timeout=ENDING_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()


class Notes:
    """What ranks have left in a folder: "rank_3" (with its pid) at the start, "done_3" at the end, "failed_3" at an error (its exit
    status), and from who watches it "ended_3" (likewise, as the shell tells it)."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.pids, self.done = self.read("rank"), self.read("done")
        early = [rank_status for rank_status in self.read("failed", "ended").items() if rank_status[0] not in self.done]
        self.first = early[0] if early else None  # the rank that ended before its time, and its status

    def read(self, *kinds):
        """{rank: its oldest note of the kinds}, oldest first."""
        found = {}
        for path in sorted((path for kind in kinds for path in self.folder.glob(f"{kind}_*")), key=when):
            found.setdefault(int(path.name.split("_")[1]), int(path.read_text() or -1))
        return found

    @property
    def refused(self):
        """Whether what ended the ranks is that they found wrong what was asked for; rank 0 has said so."""
        return self.first is not None and self.first[1] == 2

    def who_failed(self, said):
        """Which rank ended before its time, in words; `said` is what the ranks and mpiexec wrote."""
        aborted = re.search(rb"Abort\(\d+\) on node (\d+)", said)
        if self.first is not None:
            rank, status = self.first
            how = f"was killed by signal {status - 128}" if status > 128 else f"ended with status {status}"
        elif aborted:
            rank, how = int(aborted[1]), "ended with an error of MPI"
        else:
            left = sorted(self.pids.keys() - self.done.keys())
            return f"a rank ended before its time, one of {', '.join(map(str, left)) or 'those that did not start'}"
        pid = f" (pid {self.pids[rank]})" if rank in self.pids else ""
        return f"rank {rank}{pid} {how}"


def when(path):
    """The time of a note."""
    return path.stat().st_mtime_ns


def note(what, rank, value):
    """Leaves a note for who started the ranks, if they were started by `start_ranks`; see Notes."""
    folder = os.environ.get(NOTES)
    if folder and Path(folder).is_dir():
        (Path(folder) / f"{what}_{rank}").write_text(str(value))


def join_ranks(num_ranks, *, quiet=False):
    """This process's communicator among the ranks that a launcher started; rank 0 prints each rank's number and process id, or is
    quiet."""
    from flow_sbp.mpi import MpiComm

    comm = MpiComm()
    if comm.size != num_ranks:
        raise ValueError(
            f"MPI knows {comm.size} ranks, {num_ranks} were started: mpiexec and mpi4py must be of one MPI, as in flow-nn[mpi]"
        )
    set_comm(comm)
    note("rank", comm.rank, os.getpid())
    pids = np.full(num_ranks, os.getpid(), np.int64)
    if comm.rank == 0:
        for request in [comm.irecv(pids[r : r + 1], r, 0) for r in range(1, num_ranks)]:
            request.wait()
        if not quiet:
            print("\n".join(f"rank {r}: pid {pid}" for r, pid in enumerate(pids)), flush=True)
    else:
        comm.isend(pids[:1], 0, 0).wait()
    return comm


def joined():
    """This process's mpi4py.MPI if it is one of several ranks and MPI has begun, else None."""
    MPI = sys.modules.get("mpi4py.MPI")
    begun = MPI is not None and MPI.Is_initialized() and not MPI.Is_finalized() and MPI.COMM_WORLD.size > 1
    return MPI if begun else None


def speaks_for_all():
    """Whether this rank is the one to say what is wrong.

    What all ranks find, rank 0 says, and ends them; another rank that is still there after some seconds has found it alone.
    """
    given = ranks_given()
    if given is None or given[0] == 0:
        return True
    if joined() is None:
        return False
    time.sleep(ENDING_SECONDS)
    return True


@contextmanager
def together():
    """Ends all ranks if this one leaves with an error; without that the others would wait for it for ever."""
    try:
        yield
    except BaseException as error:
        status = error.code if isinstance(error, SystemExit) else 1
        if status and (MPI := joined()) is not None:
            if isinstance(
                error, MPI.Exception
            ):  # another rank is gone: who started the ranks knows, and ends this one too
                time.sleep(PATIENCE_SECONDS)
            if not isinstance(error, SystemExit):
                traceback.print_exc()
            note("failed", MPI.COMM_WORLD.rank, status)
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            time.sleep(DRAIN_SECONDS)
            MPI.COMM_WORLD.Abort(status)
        raise
