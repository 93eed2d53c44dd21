import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import flow_kernels as fk
from flow_kernels.testing import assert_same_bits, normal

WORKLOAD = Path(__file__).with_name("workload.py")


def run(*args, **environment):
    """A new interpreter: FLOW_* are read at import."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FLOW_")}
    return subprocess.run(
        [sys.executable, *args], env=clean | environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def restore_num_threads():
    before = fk.get_num_threads()
    yield
    fk.set_num_threads(before)


def test_results_have_the_same_bits_for_any_instruction_set_and_number_of_threads():
    digests = set()
    for isa, threads in [(isa, 2) for isa in fk.supported_isas()] + [(fk.isa(), 1), (fk.isa(), 7)]:
        done = run(WORKLOAD, FLOW_KERNELS_ISA=isa, FLOW_NUM_THREADS=str(threads))
        assert done.returncode == 0, done.stderr
        head, digest = done.stdout.split("\n", 1)
        assert head == f"{isa} {threads}"
        digests.add(digest)
    assert len(digests) == 1


@pytest.mark.usefixtures("restore_num_threads")
def test_the_number_of_threads_can_change_at_any_time():
    x, dy, weight = normal(0, (3000, 100)), normal(1, (3000, 100)), normal(2, 100)
    _, mean, rstd = fk.layer_norm(x)
    fk.set_num_threads(1)
    expected = fk.layer_norm_backward(dy, x, weight, mean, rstd)
    for n in (3, 1, 8, 2):
        fk.set_num_threads(n)
        assert fk.get_num_threads() == n
        for actual, wanted in zip(fk.layer_norm_backward(dy, x, weight, mean, rstd), expected, strict=True):
            assert_same_bits(actual, wanted)


@pytest.mark.usefixtures("restore_num_threads")
def test_kernels_may_run_from_many_threads_at_once():
    fk.set_num_threads(3)
    x = normal(0, (500, 300))
    expected = fk.softmax(x)
    with ThreadPoolExecutor(4) as pool:
        for y in pool.map(lambda _: fk.softmax(x), range(200)):
            assert_same_bits(y, expected)


FORK = """
import os, numpy as np, flow_kernels as fk
x = np.random.default_rng(0).normal(size=(1000, 300)).astype(np.float32)
before = fk.softmax(x)
child = os.fork()
if child == 0:
    same = np.array_equal(fk.softmax(x), before)
    grandchild = os.fork()
    if grandchild == 0:
        os._exit(0 if np.array_equal(fk.softmax(x), before) else 1)
    os._exit(0 if same and os.waitpid(grandchild, 0)[1] == 0 else 1)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(fk.softmax(x), before)
print("parent and child agree")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_after_parallel_work_runs_kernels_in_parallel():
    done = run("-c", FORK, FLOW_NUM_THREADS="3")
    assert done.stdout == "parent and child agree\n", done.stderr


def test_the_number_of_threads_is_by_default_the_cores_this_process_may_use():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    done = run("-c", "import flow_kernels as fk; print(fk.get_num_threads())")
    assert int(done.stdout) == cores


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FLOW_NUM_THREADS", "two", "FLOW_NUM_THREADS is 'two', expected a whole number from 1 to 1024"),
        ("FLOW_NUM_THREADS", "0", "FLOW_NUM_THREADS is '0', expected a whole number from 1 to 1024"),
        ("FLOW_KERNELS_ISA", "mmx", "FLOW_KERNELS_ISA is 'mmx', but this CPU offers baseline"),
    ],
)
def test_a_wrong_environment_variable_stops_the_import(variable, value, message):
    done = run("-c", "import flow_kernels", **{variable: value})
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize("n", [0, -1, 10**6])
def test_a_wrong_number_of_threads_is_refused(n):
    with pytest.raises(ValueError, match=rf"num_threads is {n}, expected 1 to 1024"):
        fk.set_num_threads(n)


def test_a_kernel_lets_other_python_threads_run():
    x = normal(0, (2000, 1000))
    state = "waiting"

    def kernel():
        nonlocal state
        state = "running"
        fk.gelu(x, out=x)
        state = "done"

    def seen_running():
        nonlocal state
        state = "waiting"
        thread = threading.Thread(target=kernel)
        thread.start()
        while state == "waiting":
            pass
        seen = state == "running"
        thread.join()
        return seen

    # Now and then the kernel is done before this thread gets a core; under the GIL it always would be.
    assert any(seen_running() for _ in range(100))
