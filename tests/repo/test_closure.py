"""tools/closure.py names a package and what it needs of ours, for a plain pip."""

import subprocess
import sys

import pytest


@pytest.fixture
def closure(repo):
    def run(*args):
        done = subprocess.run([sys.executable, "tools/closure.py", *args], cwd=repo, capture_output=True, text=True)
        return done.returncode, done.stdout.split(), done.stderr.splitlines()

    return run


@pytest.mark.parametrize(
    ("requirement", "needed"),
    [
        ("flow-kernels", ["kernels"]),
        ("flow-core", ["kernels", "core"]),
        ("flow-autograd", ["kernels", "core", "autograd"]),
        ("flow-sbp", ["sbp"]),
        ("flow-sbp[mpi]", ["sbp[mpi]"]),
        ("flow-sbp[flow]", ["kernels", "core", "autograd", "sbp[flow]"]),
        ("flow-pipeline", ["sbp", "pipeline"]),
        ("flow-nn", ["kernels", "core", "autograd", "sbp[flow]", "pipeline", "nn"]),
        ("flow-nn[mpi, train]", ["kernels", "core", "autograd", "sbp[flow,mpi]", "pipeline", "nn[mpi,train]"]),
    ],
)
def test_a_package_brings_what_it_needs_and_no_more(closure, requirement, needed):
    status, paths, _ = closure(requirement)
    assert status == 0
    assert sorted(paths) == sorted(f"./packages/flow-{name}" for name in needed)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["flow-torch"], "no package 'flow-torch'; the packages are flow-autograd,"),
        (["flow-sbp[gpu]"], "flow-sbp has no extra gpu, it has flow,"),
        (["flow-sbp["], "no package 'flow-sbp['; the packages are"),
        (["flow-sbp[mpi]x"], "no package 'flow-sbp[mpi]x'; the packages are"),
        ([], "no package given"),
    ],
)
def test_a_wrong_name_gets_one_line(closure, args, said):
    status, paths, lines = closure(*args)
    assert (status, paths, len(lines)) == (2, [], 1)
    assert said in lines[0]
