"""The development environment .venv: made once, brought up to date at each start, used only when it is whole.

What it should hold is read from the pyproject.toml files and the compiled sources (`want`), what it holds from a record
that is written after each step (`has`). A start that was killed leaves no record, or one without the step it was at;
the next start does the rest.
"""

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "packages"
VENV = ROOT / ".venv"
BIN = VENV / "bin"
RECORD = VENV / "flow-record.json"
LOG = VENV / "flow-install.log"
BUILD_TOOLS = {"hatchling": ["editables>=0.5"], "scikit-build-core": ["cmake>=3.20", "ninja>=1.11"]}
# what a build backend asks for only when it runs
MISLEADING = {"PIP_TARGET", "PYTHONHOME", "PYTHONPATH", "UV_SYSTEM_PYTHON"}  # they lead elsewhere than .venv
COMPILERS = ["c++", "g++", "clang++"]
CXX17 = "#include <optional>\nint main() { return std::optional<int>(0).value_or(1); }\n"


class Failure(Exception):
    """Why the environment cannot be made, and what to do."""


def ready():
    """The scripts folder of .venv, which holds what it should."""
    if has() != want():
        with alone() as lock:
            if has() != want():  # still, after waiting for another start
                bring(has(), want(), lock)
    return BIN


def want():
    """What .venv should hold: requirements from elsewhere, and our packages, with a digest of what is installed."""
    projects = {path.parent: tomllib.loads(path.read_text()) for path in sorted(PACKAGES.glob("*/pyproject.toml"))}
    needs = {*tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["envs"]["default"]["dependencies"]}
    for project in projects.values():
        needs.update(project["build-system"]["requires"], project["project"].get("dependencies", []))
    for backend, tools in BUILD_TOOLS.items():
        if any(need.startswith(backend) for need in needs):
            needs.update(tools)
    return {
        "root": str(ROOT),
        "requirements": sorted(need for need in needs if not need.startswith("flow-")),
        "packages": {path.name: digest(path) for path in projects},
    }


def has():
    """What .venv holds, as recorded; None where there is none, or where it was not made here or not made to its end."""
    try:
        record = json.loads(RECORD.read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None
    return record if record["root"] == str(ROOT) and (BIN / "python").exists() else None


def bring(has, want, lock):
    """Make .venv hold what it should, one recorded step after another."""
    start = time.monotonic()
    if has and not has["packages"].keys() <= want["packages"].keys():
        has = None  # a package is gone: nothing of it may stay importable
    changed = [name for name, digest in want["packages"].items() if not has or has["packages"].get(name) != digest]
    compiled = [name for name in changed if (PACKAGES / name / "CMakeLists.txt").exists()]
    cxx = compiler() if compiled else None
    if not has:
        make_venv(lock)
        has = {"root": want["root"], "requirements": [], "packages": {}}
    if has["requirements"] != want["requirements"]:
        RECORD.unlink(missing_ok=True)  # a half-installed requirement cannot be told from a whole one
        named = ", ".join(want["requirements"])
        say(textwrap.shorten(f"installing {len(want['requirements'])} requirements: {named}", 110, placeholder=" ..."))
        try:
            install_requirements(want["requirements"], lock)
        except Failure:
            record(has)  # nothing was installed, so what was there is still whole
            raise
        record(has := {**has, "requirements": want["requirements"]})
    pure = [name for name in changed if name not in compiled]
    for names in [*([name] for name in compiled), *([pure] if pure else [])]:
        record(has := {**has, "packages": {name: d for name, d in has["packages"].items() if name not in names}})
        say(f"compiling {names[0]} with {cxx}" if names[0] in compiled else f"installing {', '.join(names)}")
        install_packages(names, cxx if names[0] in compiled else None, lock)
        record(has := {**has, "packages": {**has["packages"], **{name: want["packages"][name] for name in names}}})
    say(f".venv is ready after {time.monotonic() - start:.0f} s")


def make_venv(lock):
    """An empty .venv with pip in it, in place of whatever was there."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        version = "{}.{}".format(*sys.version_info)
        raise Failure(
            f"{sys.executable} has no module {error.name}, so it cannot make .venv. Install it (Debian, Ubuntu: apt "
            f"install python{version}-venv), or use a Python from python.org, pyenv, conda or uv, which has it."
        ) from None
    say(f"making .venv with Python {sys.version.split()[0]}; this is done once")
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir(exist_ok=True)
    advice = f"Is this Python whole? Try: {sys._base_executable} -m venv /some/new/folder"
    call([sys._base_executable, "-m", "venv", str(VENV)], "the empty .venv cannot be made", advice, lock)


def install_requirements(requirements, lock):
    """Install what others publish, by uv where it can be had and does it, else by pip."""
    pip = [str(BIN / "python"), "-m", "pip", "install"]
    advice = (
        "This needs a package index once: check the network, a proxy (HTTPS_PROXY) and pip's own settings (python3 -m "
        "pip config list), then start again."
    )
    try:
        call([*pip, "--retries", "2", "uv>=0.5"], "uv cannot be had", advice, lock)
        call([*install(), *requirements], "uv cannot install the requirements", advice, lock)
    except Failure as failure:
        say(f"{str(failure).splitlines()[0]} pip tries instead")
        call([*pip, *requirements], "the requirements cannot be installed", advice, lock)


def install_packages(names, cxx, lock):
    """Install packages of ours, editable, with the build tools in .venv; their siblings come in their own turn."""
    failed = f"{', '.join(names)} cannot be built" + (f" with {cxx} (CXX chooses another compiler)" if cxx else "")
    advice = f"Mend it and start again; to start over, delete .venv and {PACKAGES.name}/*/build."
    paths = [word for name in names for word in ("--editable", str(PACKAGES / name))]
    environ = {"CXX": cxx} if cxx else {}
    call([*install(), "--no-deps", "--no-build-isolation", *again(names), *paths], failed, advice, lock, **environ)


def install():
    """The command that installs into .venv."""
    uv, python = str(BIN / "uv"), str(BIN / "python")
    return [uv, "pip", "install", "--python", python] if os.path.exists(uv) else [python, "-m", "pip", "install"]


def again(names):
    """What makes uv install these though they are there; pip does so with what is editable."""
    return [word for name in names for word in ("--reinstall-package", name)] if (BIN / "uv").exists() else []


def call(command, failed, advice, lock, **environ):
    """Run a command with its output in the log; where it fails, say what failed, its last lines, and what to do."""
    clean = {key: value for key, value in os.environ.items() if key not in MISLEADING}
    clean |= {"PATH": f"{BIN}{os.pathsep}{clean.get('PATH', '')}", "VIRTUAL_ENV": str(VENV), "PIP_USER": "0", **environ}
    with open(LOG, "a+", errors="replace") as log:
        print("$", shlex.join(command), file=log, flush=True)
        start = log.tell()
        # The child holds the lock too: if this start is killed, the next one waits until the child is done.
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean, pass_fds=[lock])
        log.seek(start)
        last = [line.rstrip()[:160] for line in log if line.strip() and "WARNING: " not in line][-20:]
    if done.returncode:
        name = os.path.basename(command[0])
        output = "".join(f"  | {line}\n" for line in last)
        raise Failure(f"{failed}: {name} ended with status {done.returncode}.\n{output}{advice} All output: {LOG}")


def compiler():
    """The command of a compiler that takes C++17: $CXX if that is set, else the first that works."""
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        raise Failure(
            f"{sys.executable} has no Python.h, which flow-kernels is compiled with. Install it (Debian, Ubuntu: apt "
            "install python3-dev; Fedora: dnf install python3-devel), or use a Python from python.org, pyenv, conda or "
            "uv, which has it."
        )
    named = os.environ.get("CXX", "").strip()
    wrong = []
    for command in [named] if named else COMPILERS:
        program, *flags = shlex.split(command)
        if path := shutil.which(program):
            test = [path, *flags, "-std=c++17", "-x", "c++", "-fsyntax-only", "-"]
            done = subprocess.run(test, input=CXX17, capture_output=True, text=True)
            if done.returncode == 0:
                return shlex.join([path, *flags])
            wrong.append(f"{path} does not take C++17 ({(done.stderr.strip().splitlines() or ['it says nothing'])[0]})")
        elif named:
            wrong.append(f"CXX is {named!r}, which is not found")
    if not wrong:
        wrong = [f"none of {', '.join(COMPILERS)} is found"]
    raise Failure(
        f"flow-kernels needs a C++17 compiler: {'; '.join(wrong)}. Install one (Debian, Ubuntu: apt install g++; "
        "Fedora: dnf install gcc-c++; macOS: xcode-select --install; without root: conda install -c conda-forge gxx), "
        "or set CXX to the path of one."
    )


def digest(package):
    """Changes when the package must be installed again; an editable install sees edits of its Python by itself."""
    found = hashlib.sha256((package / "pyproject.toml").read_bytes())
    if (package / "CMakeLists.txt").exists():
        sources = sorted(path for path in (package / "csrc").rglob("*") if path.is_file())
        for path in [package / "CMakeLists.txt", *sources]:
            found.update(f"\0{path.relative_to(package)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def record(state):
    """Write the record in one step."""
    new = RECORD.with_suffix(".new")
    new.write_text(json.dumps(state, indent=1))
    os.replace(new, RECORD)


@contextmanager
def alone():
    """Hold the lock, which is this file, so that one start at a time changes .venv; yield its descriptor."""
    with open(__file__, "rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another start to make .venv ready")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def say(line):
    print(f"flow: {line}", file=sys.stderr, flush=True)
