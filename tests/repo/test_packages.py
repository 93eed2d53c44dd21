"""Each package stands on its own: described, typed, documented, and in step with its siblings."""

import importlib
import inspect
import os
import subprocess
import sys

import numpy as np
from packaging.requirements import Requirement


def test_a_package_has_what_a_reader_and_a_type_checker_look_for(package, projects):
    module = package.name.replace("-", "_")
    for path in ("README.md", "pyproject.toml", f"src/{module}/__init__.py", f"src/{module}/py.typed"):
        assert (package / path).is_file(), f"{package.name} has no {path}"
    project = projects[package.name]
    assert project["name"] == package.name
    assert project["license"] == "Apache-2.0"
    assert project["requires-python"] == ">=3.11"


def test_versions_are_within_the_pins_of_the_siblings(projects):
    for name, project in projects.items():
        extras = project.get("optional-dependencies", {}).values()
        needs = [Requirement(line) for lines in [project.get("dependencies", []), *extras] for line in lines]
        for need in needs:
            if need.name in projects:
                version = projects[need.name]["version"]
                assert need.specifier.contains(version), f"{name} needs {need}, and {need.name} is {version}"
                assert any(n.specifier for n in needs if n.name == need.name), f"{name} needs {need} without a pin"


def test_every_public_name_is_documented(package):
    module = importlib.import_module(package.name.replace("-", "_"))
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    undocumented = [name for name, value in public.items() if not inspect.ismodule(value) and not documented(value)]
    assert module.__doc__, f"{module.__name__} has no docstring"
    assert not undocumented


def documented(value):
    """Whether a class or function of ours has its own docstring (a dataclass puts its signature there)."""
    if isinstance(value, np.dtype):
        return True  # its name says it, and numpy's and ml_dtypes' objects take no docstring of ours
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return bool(inspect.getdoc(value))
    doc = value.__doc__ or ""
    return not value.__module__.startswith("flow_") or (doc != "" and not doc.startswith(f"{value.__name__}("))


def test_a_stranger_among_our_packages_ends_the_run(repo, tmp_path):
    (tmp_path / "flow_core-9.9.9.dist-info").mkdir()
    (tmp_path / "flow_core-9.9.9.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: flow-core\nVersion: 9.9.9\n"
    )
    command = [sys.executable, "-m", "pytest", "--collect-only", "tests/repo/test_packages.py"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=repo, env=environ, capture_output=True, text=True, timeout=100)
    assert done.returncode == 3
    assert f"flow-core 9.9.9 comes from an index, not from {repo}" in done.stdout + done.stderr
