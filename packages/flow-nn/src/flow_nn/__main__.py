"""python -m flow_nn: train a GPT on text, and sample from it."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from flow_nn import checkpoint
from flow_nn.generate import generate
from flow_nn.launch import join_ranks, note, ranks_given, speaks_for_all, start_ranks, together
from flow_nn.models.gpt import GPTConfig
from flow_nn.parallel import Mesh
from flow_nn.run import Run, Settings, load_model
from flow_nn.text import encode, first_prompt, read_corpus
from flow_nn.train import Diverged, train


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {one_line(message)}; see {self.prog} --help\n")


def main(argv=None):
    """Runs a command; returns its exit status: 0, 1 if it failed, 2 if it was asked for wrongly."""
    argv = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(argv)
    args.argv = argv
    try:
        return args.command(args)
    except ValueError as error:
        if speaks_for_all():
            print(f"flow_nn {args.name}: {one_line(error)}", file=sys.stderr)
        return 2
    except Diverged as error:
        if ranks_given() is None or ranks_given()[0] == 0:
            print(f"flow_nn {args.name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if ranks_given() is None:
            print(f"flow_nn {args.name}: interrupted; go on with --resume", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of a pipe has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # the disk is full, or the like
        print(f"flow_nn {args.name}: {one_line(error)}", file=sys.stderr)
        return 1


def parser():
    """The command line."""
    top = Parser(prog="python -m flow_nn", description=__doc__, allow_abbrev=False)
    commands = top.add_subparsers(dest="name", required=True, parser_class=Parser, metavar="{train,sample}")
    t = commands.add_parser("train", help="train a GPT on a text, character by character", allow_abbrev=False)
    t.set_defaults(command=train_command)
    s = Settings()
    t.add_argument("--steps", type=positive, default=s.steps, metavar="N", help=f"how many steps (default {s.steps})")
    t.add_argument(
        "--text", metavar="FILE", help="a UTF-8 text (default: tiny Shakespeare, which comes with the package)"
    )
    t.add_argument(
        "--seed", type=seed, default=s.seed, metavar="S", help=f"seed of weights and batches (default {s.seed})"
    )
    t.add_argument("--out", default="runs/gpt", metavar="DIR", help="where to write (default runs/gpt)")
    t.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in DIR")
    t.add_argument(
        "--checkpoint-every",
        type=positive,
        default=s.checkpoint_every,
        metavar="K",
        help=f"steps (default {s.checkpoint_every})",
    )
    t.add_argument(
        "--validate-every",
        type=positive,
        default=s.validate_every,
        metavar="K",
        help=f"steps (default {s.validate_every})",
    )
    t.add_argument(
        "--batch-size",
        type=positive,
        default=s.batch_size,
        metavar="B",
        help=f"windows a step (default {s.batch_size})",
    )
    c = GPTConfig(vocab_size=1)
    t.add_argument(
        "--context",
        type=positive,
        default=c.block_size,
        metavar="T",
        help=f"characters a window (default {c.block_size})",
    )
    t.add_argument(
        "--layers", type=positive, default=c.num_layers, metavar="L", help=f"blocks (default {c.num_layers})"
    )
    t.add_argument(
        "--heads", type=positive, default=c.num_heads, metavar="H", help=f"attention heads (default {c.num_heads})"
    )
    t.add_argument(
        "--channels", type=positive, default=c.num_channels, metavar="C", help=f"width (default {c.num_channels})"
    )
    for name, what in (
        ("dp", "ranks that share a batch"),
        ("tp", "ranks that share heads and channels"),
        ("pp", "pipeline stages"),
    ):
        t.add_argument(f"--{name}", type=positive, default=1, metavar="N", help=f"{what} (default 1)")
    t.add_argument(
        "--microbatches", type=positive, default=1, metavar="M", help="equal parts that a batch is taken in (default 1)"
    )
    p = commands.add_parser("sample", help="print text drawn from a trained model", allow_abbrev=False)
    p.set_defaults(command=sample_command)
    p.add_argument(
        "run", nargs="?", default="runs/gpt", metavar="DIR", help="a run's folder, or a checkpoint's (default runs/gpt)"
    )
    p.add_argument("--length", type=positive, default=500, metavar="N", help="characters to print (default 500)")
    p.add_argument("--prompt", metavar="TEXT", help="what the text goes on from (default: a line break)")
    p.add_argument(
        "--temperature", type=float, default=0.8, metavar="X", help="0 takes the likeliest character (default 0.8)"
    )
    p.add_argument("--top-k", type=positive, metavar="K", help="draw from the K likeliest characters")
    p.add_argument("--seed", type=seed, default=0, metavar="S", help="seed of the draws (default 0)")
    return top


def train_command(args):
    """Checks everything that can be checked, then trains: here, or on ranks that it starts. Returns the exit status."""
    if find_spec("matplotlib") is None:
        raise ValueError("the loss curve needs matplotlib, which is missing: pip install 'flow-nn[train]'")
    out = Path(args.out)
    check_out(out)
    corpus = read_corpus(args.text, args.context)
    config = GPTConfig(len(corpus.chars), args.context, args.layers, args.heads, args.channels)
    settings = Settings(
        steps=args.steps,
        seed=args.seed,
        batch_size=args.batch_size,
        checkpoint_every=args.checkpoint_every,
        validate_every=args.validate_every,
        num_microbatches=args.microbatches,
    )
    mesh = Mesh(args.dp, args.tp, args.pp)
    mesh.check(config, settings.batch_size, settings.num_microbatches)
    given = ranks_given()
    if given is not None and given[1] != mesh.size:
        raise ValueError(
            f"--dp {mesh.dp} x --tp {mesh.tp} x --pp {mesh.pp} is a mesh of {mesh.size} ranks, {given[1]} were started"
        )
    if given is None and mesh.size > 1:
        newest = checkpoint.latest(out / "checkpoints") if args.resume else None
        if newest is not None:
            Run(corpus, config, settings, out).restore(newest)  # refuses what does not fit before a rank is started
        return start_ranks(mesh.size, args.argv)
    comm = join_ranks(mesh.size) if mesh.size > 1 else None
    train(corpus, config, settings, out, resume=args.resume, mesh=mesh, comm=comm)
    if comm is not None:
        note("done", comm.rank, os.getpid())
    return 0


def check_out(out):
    """ValueError unless `out` is a folder or can be made one."""
    try:
        nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    except OSError as error:  # a name that is too long
        raise ValueError(f"--out {out}: {error.strerror}: give a folder") from None
    if not nearest.is_dir():
        raise ValueError(f"--out {out}: {nearest} is a file: give a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"--out {out}: {nearest} may not be written to: give another folder")


def sample_command(args):
    """Prints characters as they are drawn."""
    model, chars = load_model(args.run)
    ids = encode(first_prompt(chars) if args.prompt is None else args.prompt, chars)
    for i in generate(model, ids, args.length, temperature=args.temperature, top_k=args.top_k, seed=args.seed):
        print(chars[i], end="", flush=True)
    print()
    return 0


def positive(text):
    """An int of 1 or more."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return value


def seed(text):
    """An int in [0, 2^64)."""
    if not text.isdecimal() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to below 2^64")
    return int(text)


def one_line(message):
    return " ".join(str(message).splitlines())


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character of the text
    with together():
        sys.exit(main())
