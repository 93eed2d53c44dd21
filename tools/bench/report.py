"""What a bench hands out: rows, as a table to read and as JSON; and the machine they were measured on."""

import json
import math
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from worker import num_cores

JSON_KEYS = ["name", "unit", "ours", "peer", "ratio", "limit_share"]
BLAS_VARIABLES = ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ATEN_CPU_CAPABILITY"]

LOAD = os.getloadavg()[0]  # read before the bench adds its own


@dataclass(frozen=True)
class Row:
    """A figure of both sides. `ratio` is how many times better ours is; None for what there is none of. `note` is for the table only."""

    name: str
    unit: str
    ours: float | None
    peer: float | None = None
    ratio: float | None = None
    limit_share: float | None = None
    note: str = ""

    def __post_init__(self):
        for key in ("ours", "peer", "ratio", "limit_share"):
            value = getattr(self, key)
            assert value is None or (math.isfinite(value) and value >= 0), f"{self.name}: {key} is {value}"


@dataclass(frozen=True)
class Report:
    """The rows of a bench, what is wrong with our results (nothing, in general), and the versions of both sides by package."""

    rows: list
    failures: list
    ours: dict
    peer: dict


def as_json(rows):
    """The rows as the JSON that every bench writes."""
    return json.dumps({"rows": [{key: getattr(row, key) for key in JSON_KEYS} for row in rows]}, indent=1) + "\n"


def text(report):
    """The Report to read: the machine and both sides, the table, and what is wrong."""
    wrong = [f"WRONG {failure}" for failure in report.failures]
    return "\n".join([header(report.ours, report.peer), "", table(report.rows), *wrong])


def table(rows):
    """The rows as lines of text."""
    cells = [["", "ours", "peer", "ratio", "of limit", "unit", ""]]
    for row in rows:
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        share = "-" if row.limit_share is None else f"{row.limit_share:.1%}"
        cells.append([row.name, number(row.ours), number(row.peer), ratio, share, row.unit, row.note])
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    left = (0, 5, 6)
    lines = [
        [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        for line in cells
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def spread(turns):
    """What a table adds about turns that alternated: the ratio of the best of each side, and the middle half of the pairs' ratios."""
    low, high = turns.quartiles
    return f"best {turns.best_ratio:.2f}, pairs {low:.2f}..{high:.2f}"


def number(value):
    """A figure with three or four digits that count."""
    if value is None:
        return "-"
    if 0 < value < 1e-2:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def header(ours, peer, environ=os.environ):
    """The machine, the versions of both sides, and the variables that change what the libraries below them do."""
    lines = [
        f"{cpu_model()}, {num_cores()} cores, {platform.system()} {platform.release()}, load average {LOAD:.1f} at the start"
    ]
    for name, versions in (("ours", ours), ("peer", peer)):
        lines.append(f"{name}: " + ", ".join(f"{key} {value}" for key, value in versions.items()))
    if found := [f"{key}={environ[key]}" for key in BLAS_VARIABLES if key in environ]:
        lines.append(f"set in the environment, for both sides: {' '.join(found)}")
    return "\n".join(lines)


def cpu_model():
    """The processor's name, as far as the system tells."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()
