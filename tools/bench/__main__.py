"""Compares the stack with PyTorch on this machine, side by side in one run.

The peer, PyTorch, is installed by pip in an environment of its own, .bench, on first use. Ours and the peer run in a process each,
in turns: ours, peer, ours, peer, ... Ratios say how many times better ours is. No time is ever asserted. The status is 0; 1 where a
result of ours is wrong or a side fails; 2 where the command is wrong or a side cannot be made ready.
"""

import argparse
import os
import sys
from importlib.util import find_spec

import eager
import report
import train
from worker import Failure

BENCHES = {"eager": eager, "train": train}
HINT = "{} does not hold the stack; use the environment that does: python3 tools/dev.py run python tools/bench {}"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class List(argparse.Action):
    """Prints the names of rows and leaves."""

    def __call__(self, parser, namespace, values, option_string=None):
        print("\n".join(self.const))
        parser.exit()


def main(argv=None):
    """Runs a bench; returns the exit status."""
    args = parser().parse_args(argv)
    if find_spec("flow_nn") is None:
        print(f"tools/bench: {HINT.format(sys.executable, args.name)}", file=sys.stderr)
        return 2
    try:
        found = BENCHES[args.name].measure(args.only or BENCHES[args.name].ROWS, args.pairs)
    except Failure as failure:
        print(f"tools/bench {args.name}: {failure}", file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        print(f"tools/bench {args.name}: interrupted", file=sys.stderr)
        return 1
    print(report.text(found))
    if args.json:
        with open(args.json, "w") as file:
            file.write(report.as_json(found.rows))
    return 1 if found.failures else 0


def parser():
    """The command line."""
    form = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    top = Parser(prog="tools/bench", description=__doc__, **form)
    every = [f"{name} {row}" for name, bench in BENCHES.items() for row in bench.ROWS]
    top.add_argument("--list", action=List, nargs=0, const=every, help="print the benches and their rows, and leave")
    commands = top.add_subparsers(dest="name", required=True, metavar="{" + ",".join(BENCHES) + "}")
    for name, bench in BENCHES.items():
        summary = bench.__doc__.splitlines()[0]
        command = commands.add_parser(name, help=summary, description=bench.__doc__, **form)
        command.add_argument(
            "--list", action=List, nargs=0, const=bench.ROWS, help="print the names of the rows, and leave"
        )
        command.add_argument(
            "--only", action="append", type=one_of(bench.ROWS), metavar="NAME", help="measure this row; may be repeated"
        )
        command.add_argument("--json", type=writable, metavar="FILE", help="write the rows to FILE too")
        command.add_argument(
            "--pairs",
            type=positive,
            default=bench.NUM_PAIRS,
            metavar="N",
            help=f"turns of each side (default {bench.NUM_PAIRS})",
        )
    return top


def one_of(rows):
    """The type of an argument that is one of the rows' names."""

    def check(name):
        if name not in rows:
            raise argparse.ArgumentTypeError(f"there is no row {name!r}; the rows are {', '.join(rows)}")
        return name

    return check


def writable(path):
    """A file that can be written, which is found out before anything is measured."""
    folder = os.path.dirname(path) or "."
    if (
        os.path.isdir(path)
        or not os.path.isdir(folder)
        or not os.access(path if os.path.exists(path) else folder, os.W_OK)
    ):
        raise argparse.ArgumentTypeError(f"{path!r} cannot be written: give a file in a folder that exists")
    return path


def positive(text):
    """An int of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
