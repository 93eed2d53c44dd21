"""Train, test, or run any command, in an environment that is made on first use.

    python3 tools/dev.py train [ARGS]   train a model: python -m flow_nn train ARGS
    python3 tools/dev.py test [ARGS]    run all tests, from the root of the repository: python -m pytest ARGS
    python3 tools/dev.py run CMD...     run CMD

Needed beforehand: Python 3.11 or newer and a C++17 compiler. The environment, .venv at the root of the repository,
holds the whole stack, editable, and its tools. Later starts reinstall what changed: flow-kernels after an edit of its
C++, a package whose pyproject.toml changed. The exit status is the command's; 2 where the environment cannot be made.
Delete .venv to start over.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "flow needs Python 3.11 or newer; %s is %d.%d. Take a newer one: python3.13 tools/dev.py ...\n"
        % ((sys.executable or "this Python",) + tuple(sys.version_info[:2]))
    )
    sys.exit(2)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from environment import ROOT, Failure, ready


def main(command=None, *args):
    """Make the environment ready and become the command in it."""
    if command in ("-h", "--help", "help"):
        sys.stdout.write(__doc__)
        return 0
    if command not in ("train", "test", "run") or (command == "run" and not args):
        given = "no command" if command is None else "run without a command" if command == "run" else repr(command)
        sys.stderr.write("tools/dev.py: %s; expected train, test or run CMD (--help says more)\n" % given)
        return 2
    try:
        scripts = ready()
    except Failure as failure:
        sys.stderr.write("flow: %s\n" % failure)
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("flow: interrupted; the next start makes .venv ready\n")
        return 130
    path = os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])
    environ = dict(os.environ, VIRTUAL_ENV=str(scripts.parent), PATH=path)
    environ.pop("PYTHONHOME", None)
    words = list(args)
    if command == "train":
        words = [str(scripts / "python"), "-m", "flow_nn", "train"] + words
    elif command == "test":
        words = [str(scripts / "python"), "-m", "pytest"] + words
        os.chdir(str(ROOT))
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        sys.stderr.write("flow: cannot run %s: %s\n" % (words[0], error.strerror))
        return 127


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
