"""flow_sbp stands on numpy alone: no other package is imported unless a module that names it is."""

import subprocess
import sys

CODE = """
import sys
import flow_sbp
strangers = {"mpi4py", "hypothesis", "ml_dtypes", "scipy", "torch", "jax", "flow_core", "flow_kernels", "flow_autograd"}
print(sorted(strangers & set(sys.modules)))
"""


def test_importing_flow_sbp_imports_numpy_and_no_other_package():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
