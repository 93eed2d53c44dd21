"""tools/dev.py makes the environment once, keeps it up to date, and says what is missing.

Seen on small repositories that need no network: their build backend stands beside their packages.
"""

import ast
import os
import shutil
import subprocess
import sys

import pytest

ROOT = "[tool.hatch.envs.default]\ndependencies = [{}]\n"
PROJECT = """
build-system = {{ requires = [], build-backend = "backend", backend-path = ["."] }}
project = {{ name = "{}", version = "{}" }}
"""
BACKEND = """
import os, tomllib, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    project = tomllib.load(open("pyproject.toml", "rb"))["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info, wheel = f"{name}-{version}.dist-info", f"{name}-{version}-py3-none-any.whl"
    files = {
        f"{name}.pth": os.path.abspath("src"),
        f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"]))
    return wheel
"""


class Scratch:
    """A repository with tools/dev.py, two packages of no content, and nothing to fetch."""

    def __init__(self, repo, folder):
        self.folder = folder
        (folder / "tools").mkdir()
        for name in ("dev.py", "environment.py"):
            shutil.copy(repo / "tools" / name, folder / "tools")
        (folder / "pyproject.toml").write_text(ROOT.format(""))
        self.package("flow-core", "0.1.0")
        self.package("flow-nn", "0.1.0")
        (folder / "packages/flow-nn/src/flow_nn/__main__.py").write_text("import sys; print(sys.argv[1:]); sys.exit(3)")

    def package(self, name, version):
        folder = self.folder / "packages" / name
        module = folder / "src" / name.replace("-", "_")
        module.mkdir(parents=True, exist_ok=True)
        (module / "__init__.py").touch()
        (folder / "backend.py").write_text(BACKEND)
        (folder / "pyproject.toml").write_text(PROJECT.format(name, version))
        return folder

    def start(self, *args, python=(sys.executable,), **environ):
        outer = {key: value for key, value in os.environ.items() if key not in ("CXX", "PYTHONPATH", "VIRTUAL_ENV")}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*python, str(self.folder / "tools" / "dev.py"), *args],
            cwd=self.folder, stdout=pipe, stderr=pipe, text=True, env={**outer, "PIP_NO_INDEX": "1", **environ},
        )  # fmt: skip

    def dev(self, *args, **options):
        process = self.start(*args, **options)
        out, err = process.communicate(timeout=100)
        return process.returncode, out, err


@pytest.fixture
def scratch(repo, tmp_path):
    return Scratch(repo, tmp_path)


@pytest.fixture(scope="module")
def made(repo, tmp_path_factory):
    """A repository whose .venv is made, by two starts at the same moment."""
    scratch = Scratch(repo, tmp_path_factory.mktemp("repository"))
    starts = [scratch.start("run", "python", "-c", "import flow_core, flow_nn; print('both')") for _ in range(2)]
    said = [process.communicate(timeout=100) for process in starts]
    assert [process.returncode for process in starts] == [0, 0], said
    assert [out for out, _ in said] == ["both\n", "both\n"]
    scratch.first = "".join(err for _, err in said)
    return scratch


def test_starts_at_the_same_moment_make_one_environment(made):
    assert made.first.count("making .venv") == 1
    assert made.first.count("is ready") == 1


def test_a_later_start_says_nothing_and_hands_on_status_and_folder(made):
    assert made.dev("run", "sh", "-c", "pwd; exit 7") == (7, f"{made.folder}\n", "")


def test_train_passes_its_arguments_on(made):
    assert made.dev("train", "--steps", "3", "--help") == (3, "['train', '--steps', '3', '--help']\n", "")


def test_a_command_that_is_not_there_is_named(made):
    status, _, err = made.dev("run", "no-such-command")
    assert (status, err) == (127, "flow: cannot run no-such-command: No such file or directory\n")


def test_only_the_package_that_changed_is_installed_again(made):
    made.package("flow-core", "0.1.1")
    version = "import importlib.metadata as m; print(m.version('flow-core'))"
    status, out, err = made.dev("run", "python", "-c", version)
    assert (status, out) == (0, "0.1.1\n")
    assert "installing flow-core\n" in err
    assert "flow-nn" not in err
    assert made.dev("run", "python", "-c", version) == (0, "0.1.1\n", "")


def test_an_environment_that_was_not_finished_is_made_again(made):
    (made.folder / ".venv/flow-record.json").unlink()
    (made.folder / ".venv/left").touch()
    status, _, err = made.dev("run", "python", "-c", "import flow_core, flow_nn")
    assert status == 0
    assert "making .venv" in err
    assert not (made.folder / ".venv/left").exists()


def test_a_missing_compiler_is_named_with_what_to_install(scratch):
    (scratch.package("flow-kernels", "0.1.0") / "CMakeLists.txt").touch()
    status, _, err = scratch.dev("test", PATH=str(scratch.folder))
    assert status == 2
    assert "needs a C++17 compiler: none of c++, g++, clang++ is found" in err
    assert "apt install g++" in err
    assert len(err.splitlines()) == 1
    assert not (scratch.folder / ".venv").exists()


def test_a_wrong_cxx_is_refused_and_not_replaced(scratch):
    (scratch.package("flow-kernels", "0.1.0") / "CMakeLists.txt").touch()
    status, _, err = scratch.dev("test", CXX="no-such-compiler -O2")
    assert status == 2
    assert "CXX is 'no-such-compiler -O2', which is not found" in err
    status, _, err = scratch.dev("test", CXX="false")
    assert status == 2
    assert "does not take C++17" in err


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_that_cannot_make_environments_is_refused(scratch, module):
    stub = scratch.folder / "stub"
    stub.mkdir()
    (stub / f"{module}.py").write_text(f"raise ModuleNotFoundError(name={module!r})")
    status, _, err = scratch.dev("test", PYTHONPATH=str(stub))
    assert status == 2
    assert f"has no module {module}" in err
    assert f"apt install python3.{sys.version_info[1]}-venv" in err
    assert "conda or uv" in err
    assert len(err.splitlines()) == 1
    assert not (scratch.folder / ".venv").exists()


def test_what_pip_said_last_is_shown_where_it_fails(scratch):
    (scratch.folder / "pyproject.toml").write_text(ROOT.format('"no-such-requirement>=7"'))
    status, _, err = scratch.dev("test")
    assert status == 2
    assert "  | ERROR: No matching distribution found for no-such-requirement>=7\n" in err
    assert "check the network" in err


def test_an_old_python_is_told_which_one_to_take(repo, scratch):
    ast.parse((repo / "tools/dev.py").read_text(), feature_version=(3, 5))  # no f-strings
    old = "import runpy, sys; sys.argv[:1] = []; sys.version_info = (3, 8, 2); runpy.run_path(sys.argv[0])"
    status, _, err = scratch.dev("test", python=(sys.executable, "-c", old))
    assert status == 2
    assert "needs Python 3.11 or newer" in err
    assert "is 3.8." in err


@pytest.mark.parametrize("args", [[], ["run"], ["trian"]])
def test_a_wrong_command_gets_one_line(scratch, args):
    status, out, err = scratch.dev(*args)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "expected train, test or run CMD" in err


def test_help_names_the_commands(scratch):
    status, out, err = scratch.dev("--help")
    assert (status, err) == (0, "")
    assert all(f"tools/dev.py {command}" in out for command in ("train", "test", "run"))
