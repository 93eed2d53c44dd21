"""The files and packages of the repository, for tests that walk them."""

import os
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PACKAGES = sorted(path.parent for path in REPO.glob("packages/*/pyproject.toml"))


def pytest_generate_tests(metafunc):
    if "package" in metafunc.fixturenames:
        metafunc.parametrize("package", PACKAGES, ids=lambda path: path.name)


@pytest.fixture(scope="session")
def repo():
    return REPO


@pytest.fixture(scope="session")
def projects():
    """The [project] table of each package, by name."""
    return {path.name: tomllib.loads((path / "pyproject.toml").read_text())["project"] for path in PACKAGES}


@pytest.fixture(scope="session")
def files():
    """Every file that belongs to the repository: all but what .gitignore names."""
    ignored = [".git/", *(REPO / ".gitignore").read_text().split()]
    found = []
    for folder, folders, names in os.walk(REPO):
        folders[:] = sorted(name for name in folders if not any(fnmatch(f"{name}/", line) for line in ignored))
        found += [Path(folder, name) for name in sorted(names) if not any(fnmatch(name, line) for line in ignored)]
    return found
