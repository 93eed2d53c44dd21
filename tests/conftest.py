"""Every flow package under test is from here; under mpiexec the tests in folders named mpi run, else the others."""

import atexit
import io
import json
import os
import shutil
import tempfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
RANK = int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", -1)))  # -1: not under mpiexec


def pytest_sessionstart(session):
    for dist in distributions():
        if dist.name.startswith("flow-"):
            url = json.loads(dist.read_text("direct_url.json") or "{}").get("url", "an index")
            if url != REPO.as_uri() and not url.startswith(f"{REPO.as_uri()}/"):
                pytest.exit(f"{dist.name} {dist.version} comes from {url}, not from {REPO}", returncode=3)


def pytest_report_header():
    if RANK >= 0:
        return f"rank {RANK}, process {os.getpid()}"


def pytest_ignore_collect(collection_path):
    if collection_path.is_file() and collection_path.is_relative_to(REPO):
        return ("mpi" in collection_path.relative_to(REPO).parts) != (RANK >= 0) or None


def pytest_cmdline_main(config):
    """Give each rank a folder of its own for temporary files: in pytest's numbered ones the ranks clean up after each other, and fall."""
    if RANK >= 0 and config.option.basetemp is None:
        config.option.basetemp = folder = tempfile.mkdtemp(prefix=f"flow-rank-{RANK}-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Let ranks other than 0 write into a buffer, since their lines would cut into those of rank 0."""
    if RANK > 0:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        reporter._tw._file = config.rank_output = io.StringIO()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    """Show in one piece what a rank other than 0 has to say, if its tests failed."""
    yield  # the summary is written in here
    if RANK > 0 and exitstatus:
        os.write(2, session.config.rank_output.getvalue().encode())
