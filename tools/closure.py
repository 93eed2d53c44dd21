"""Print the paths of a package and of every flow package that it needs, for a pip that knows no workspaces:

pip install $(python tools/closure.py flow-sbp)           # or with extras: "flow-sbp[mpi]"
"""

import os
import re
import sys
import tomllib
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[1] / "packages"


def main(*requirements):
    """Print what `closure` finds for each requirement, as pip takes it; the exit status."""
    found = {}
    try:
        if not requirements:
            raise LookupError("no package given")
        for requirement in requirements:
            if not re.fullmatch(r"[\w.-]+(\[[\w.,\s-]*\])?", requirement):
                raise LookupError(f"no package {requirement!r}")
            closure(requirement, found)
    except LookupError as error:
        names = ", ".join(sorted(path.parent.name for path in PACKAGES.glob("*/pyproject.toml")))
        print(f"tools/closure.py: {error}; the packages are {names}", file=sys.stderr)
        return 2
    for name, extras in found.items():
        path = os.path.relpath(PACKAGES / name)
        print(os.path.join(".", path) + (f"[{','.join(sorted(extras))}]" if extras else ""))
    return 0


def closure(requirement, found):
    """Add to `found` (name: extras) the package that a requirement names and those of ours it needs, lowest first."""
    name, extras = re.match(r"([\w.-]*)(?:\[([\w.,\s-]*)\])?", requirement).groups()
    wanted = {extra.strip() for extra in extras.split(",")} if extras else set()
    if name in found and found[name] >= wanted:
        return
    if not name or not (PACKAGES / name / "pyproject.toml").exists():
        raise LookupError(f"no package {requirement!r}")
    project = tomllib.loads((PACKAGES / name / "pyproject.toml").read_text())["project"]
    offered = project.get("optional-dependencies", {})
    if unknown := wanted - offered.keys():
        has = ", ".join(sorted(offered)) or "none"
        raise LookupError(f"{name} has no extra {', '.join(sorted(unknown))}, it has {has}")
    needs = [*project.get("dependencies", []), *(need for extra in sorted(wanted) for need in offered[extra])]
    for need in needs:
        if need.startswith("flow-"):
            closure(need, found)
    found[name] = found.get(name, set()) | wanted


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
