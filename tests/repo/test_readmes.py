"""What a README shows runs."""

import re
import subprocess
import sys

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run(readme, folder):
    """Run the Python blocks of a README one after another in one process, as a reader would."""
    blocks = BLOCK.findall(readme.read_text())
    assert blocks, f"{readme} shows no Python"
    program = [sys.executable, "-c", "\n".join(blocks)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{readme}\n{done.stdout}{done.stderr}"


def test_the_readme_runs(repo, tmp_path):
    run(repo / "README.md", tmp_path)


def test_the_readme_of_a_package_runs(package, tmp_path):
    run(package / "README.md", tmp_path)
