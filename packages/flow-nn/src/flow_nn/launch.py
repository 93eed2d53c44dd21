"""Ranks: starting them, or finding oneself among them."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from flow_sbp.global_tensor import set_comm

# How the launchers tell a process how many ranks there are.
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
PIDS = "FLOW_PIDS"  # the folder where ranks that we started leave their process ids


def ranks_given():
    """(rank, number of ranks) if a launcher started this process, else None."""
    size = next((os.environ[name] for name in SIZE_VARIABLES if name in os.environ), None)
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), None)
    return None if size is None or rank is None else (int(rank), int(size))


def start_ranks(num_ranks, arguments):
    """Runs `python -m flow_nn ARGUMENTS` on so many new ranks of this machine; returns the exit status, 0 or 1.

    If one ends before its time, all end, and a line names it.
    """
    mpiexec = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(mpiexec) if mpiexec.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise ValueError("several ranks need mpiexec, which is missing: pip install 'flow-nn[mpi]'")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = str(max(cores // num_ranks, 1))
    environment = os.environ | dict.fromkeys(
        ("FLOW_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads
    )
    if num_ranks > cores:  # ranks that wait must let the others compute
        environment["MPIR_CVAR_ENABLE_HEAVY_YIELD"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        environment[PIDS] = folder
        command = [mpiexec, "-n", str(num_ranks), sys.executable, "-m", "mpi4py", "-m", "flow_nn", *arguments]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
            said = forward(process.stderr)
            try:
                status = process.wait()
            except KeyboardInterrupt:
                status = process.wait()
        if status == 0 and len(list(Path(folder).glob("done_*"))) < num_ranks:
            status = 1  # a rank left by os._exit, which the launcher takes for a good end
        if status == 2:
            return 2
        if status:
            print(
                f"flow_nn: {who_failed(said, folder, status)}; go on from the last checkpoint with --resume",
                file=sys.stderr,
            )
        return 1 if status else 0


def join_ranks(num_ranks, *, quiet=False):
    """This process's communicator among the ranks that a launcher started; rank 0 prints each rank's number and process id, or is
    quiet."""
    from flow_sbp.mpi import MpiComm

    comm = MpiComm()
    set_comm(comm)
    note("rank", comm.rank)
    pids = np.full(num_ranks, os.getpid(), np.int64)
    if comm.rank == 0:
        for request in [comm.irecv(pids[r : r + 1], r, 0) for r in range(1, num_ranks)]:
            request.wait()
        if not quiet:
            print("\n".join(f"rank {r}: pid {pid}" for r, pid in enumerate(pids)), flush=True)
    else:
        comm.isend(pids[:1], 0, 0).wait()
    return comm


def forward(stream):
    """Passes a stream on as it comes; returns the last of its bytes."""
    tail = b""
    while chunk := os.read(stream.fileno(), 65536):
        sys.stderr.buffer.write(chunk)
        sys.stderr.buffer.flush()
        tail = (tail + chunk)[-16384:]
    return tail


def who_failed(said, folder, status):
    """Which rank ended, as far as the launcher's words and the ranks' notes tell."""
    ranks = {path.read_text(): path.name.removeprefix("rank_") for path in Path(folder).glob("rank_*")}
    for pid in re.findall(rb"PID (\d+)", said):
        if pid.decode() in ranks:
            killed = f", killed by signal {status}" if status in (4, 6, 7, 8, 9, 11, 15) else ""
            return f"rank {ranks[pid.decode()]} (pid {pid.decode()}) ended before its time{killed}"
    unfinished = sorted(
        set(ranks.values()) - {path.name.removeprefix("done_") for path in Path(folder).glob("done_*")}, key=int
    )
    return f"a rank among {', '.join(unfinished)} ended before its time (status {status})"


def note(what, rank):
    """Leaves a note for who started the ranks: what = "rank" with the pid at the start, "done" at the end."""
    folder = os.environ.get(PIDS)
    if folder and Path(folder).is_dir():
        (Path(folder) / f"{what}_{rank}").write_text(str(os.getpid()))
