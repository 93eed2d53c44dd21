"""Files are short, name no machine, and hold one direction of imports."""

import re
import shutil
import subprocess
import sys

LONGEST = 350
SOURCES = {".py", ".cpp", ".h", ".cu", ".cuh"}
FOLDERS = "tmp|work|opt|root|home"
OPTIONS = "|".join(["index" + "-url", "find" + "-links", "https?" + "://[^ ]*/simple"])
MACHINE = re.compile(rf"(^|[^\w.-])/({FOLDERS})/[\w.]|{OPTIONS}")


def test_a_source_file_holds_one_idea(repo, files):
    lengths = {path: len(path.read_text().splitlines()) for path in files if path.suffix in SOURCES}
    assert {str(path.relative_to(repo)): lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_no_file_names_a_machine_or_an_index(repo, files):
    found = []
    for path in files:
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue  # not text
        found += [f"{path.relative_to(repo)}:{n}: {line}" for n, line in enumerate(lines, 1) if MACHINE.search(line)]
    assert found == []


def test_imports_point_down_only(repo, tmp_path):
    lint = shutil.which("lint-imports", path=str(repo.joinpath(sys.executable).parent))
    assert lint, "import-linter is not in this environment"
    done = subprocess.run([lint, "--no-cache"], cwd=repo, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
