"""The tests in the folder mpi pass on 2, 3 and 4 ranks that mpiexec starts; a failing rank ends them all."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]))

pytestmark = [
    pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed (flow-sbp[mpi])"),
    pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec (pip install mpich)"),
]


def mpiexec(num_ranks, *arguments, timeout):
    """Run python -m mpi4py on so many ranks, one thread each."""
    env = os.environ | {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    env |= {"MPIEXEC_TIMEOUT": str(timeout), "PYTHONUNBUFFERED": "1"}
    if num_ranks > (os.cpu_count() or 1):
        env["MPIR_CVAR_ENABLE_HEAVY_YIELD"] = "1"  # ranks that share a core must not spin
    command = [MPIEXEC, "-n", str(num_ranks), sys.executable, "-m", "mpi4py", *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout + 10)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_the_mpi_tests_pass(num_ranks):
    done = mpiexec(num_ranks, "-m", "pytest", "-x", "-q", "-o", "faulthandler_timeout=60", HERE / "mpi", timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout.splitlines()[-1], done.stdout


FAILING = """
import sys
import numpy as np
from flow_sbp import Layout, Placement, execute, plan
from flow_sbp.mpi import MpiComm
comm = MpiComm()
mesh = Placement(range(3), "x")
this = plan(Layout((6,), "f32", mesh, "S(0)"), Layout((6,), "f32", mesh, "B"))
if comm.rank == 1:
    {fault}
execute(this, np.ones(2, "f4"), comm, check=False)
comm.barrier()
print("all is well", flush=True)
"""


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("raise KeyError('mine')", "KeyError: 'mine'"),
        ("execute(this, None, comm, check=False)", "rank 1: no shard was given"),
    ],
    ids=["an exception", "an abort"],
)
def test_a_failing_rank_ends_them_all(tmp_path, fault, says):
    script = tmp_path / "failing.py"
    script.write_text(FAILING.format(fault=fault))
    done = mpiexec(3, script, timeout=30)
    assert done.returncode != 0
    assert says in done.stderr
    assert "all is well" not in done.stdout
