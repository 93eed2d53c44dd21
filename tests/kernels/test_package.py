import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import flow_kernels as fk
from flow_kernels import reference

PACKAGE = Path(__file__).parents[2] / "packages" / "flow-kernels"


def test_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 1
    exec(blocks[0], {})


def test_every_kernel_has_a_reference_with_its_arguments():
    for name in ("layer_norm", "cross_entropy", "gelu", "softmax"):
        for function in (name, f"{name}_backward"):
            ours = list(inspect.signature(getattr(fk, function)).parameters)
            theirs = list(inspect.signature(getattr(reference, function)).parameters)
            assert ours == [*theirs, "out"]
    assert inspect.signature(fk.adamw) == inspect.signature(reference.adamw)


def test_every_public_function_has_a_docstring():
    for name in dir(fk):
        if callable(value := getattr(fk, name)):
            assert value.__doc__, name


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_the_objects_of_a_level_share_no_code_with_the_others():
    """A weak symbol compiled for AVX-512 could be the one that the linker keeps for every CPU."""
    objects = [*PACKAGE.glob("build/*/CMakeFiles/level_*.dir/**/*.o")]
    if not objects:
        pytest.skip("the package was not built in its folder")
    for path in objects:
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        assert not re.findall(r" [WVwvu] .*", symbols), path
