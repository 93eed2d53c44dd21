"""tools/bench: its command line, what it writes, and how its two sides work. No time is taken, and the peer is not installed."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from types import SimpleNamespace

import numpy as np
import pytest

FILES = ["blocks", "eager", "paired", "peer", "ranks", "report", "train", "worker"]


@pytest.fixture
def bench(repo, monkeypatch):
    """The files of tools/bench as modules, which are forgotten afterwards: their names are short."""
    monkeypatch.syspath_prepend(repo / "tools" / "bench")
    for name in FILES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in FILES})
    for name in FILES:
        del sys.modules[name]


def run(repo, *args, python=(sys.executable,), **environ):
    command = [*python, str(repo / "tools" / "bench"), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env={**os.environ, **environ})
    return done.returncode, done.stdout, done.stderr


def test_list_names_every_row(repo, bench):
    for name in ("eager", "train"):
        assert run(repo, name, "--list") == (0, "\n".join(getattr(bench, name).ROWS) + "\n", "")
    both = [f"eager {row}" for row in bench.eager.ROWS] + [f"train {row}" for row in bench.train.ROWS]
    assert run(repo, "--list") == (0, "\n".join(both) + "\n", "")


@pytest.mark.parametrize("args", [["--help"], ["eager", "--help"], ["train", "--help"]])
def test_help_says_what_is_measured(repo, args):
    status, out, err = run(repo, *args)
    assert (status, err) == (0, "")
    assert "in turns" in out or "take turns" in out
    assert "median of the turns" in out or args == ["--help"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["eager", "--only", "no_such_row"], "there is no row 'no_such_row'; the rows are add_16x16, "),
        (["train", "--only", "add_16x16"], "there is no row 'add_16x16'; the rows are loss_agreement, "),
        (["train", "--pairs", "0"], "'0' is not a whole number of 1 or more"),
        (["train", "--json", "no-such-folder/rows.json"], "'no-such-folder/rows.json' cannot be written"),
        (["train", "--unknown"], "unrecognized arguments: --unknown"),
        (["trian"], "invalid choice: 'trian'"),
        ([], "required: {eager,train}"),
    ],
)
def test_what_is_asked_wrongly_gets_one_line(repo, args, said):
    status, out, err = run(repo, *args)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert said in err


def test_a_python_without_the_stack_is_told_which_one_to_take(repo):
    status, out, err = run(repo, "eager", python=(sys.executable, "-S"), PYTHONPATH="")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.endswith("python3 tools/dev.py run python tools/bench eager\n")


def test_a_peer_that_cannot_be_installed_is_one_line(repo, tmp_path):
    shutil.copytree(repo / "tools" / "bench", tmp_path / "tools" / "bench")
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    status, out, err = run(tmp_path, "eager", **nowhere)
    progress, failure = err.splitlines()
    assert (status, out) == (2, "")
    assert "making .bench" in progress
    assert "No matching distribution found for torch==" in failure
    assert not (tmp_path / ".bench" / "requirements.txt").exists()  # so it is made again


def test_json_holds_what_every_bench_writes(bench):
    rows = [bench.report.Row("add", "us", 0.5, 1.0, 2.0, 0.25, "a note"), bench.report.Row("loss", "nats", 1e-7)]
    assert json.loads(bench.report.as_json(rows)) == {
        "rows": [
            {"name": "add", "unit": "us", "ours": 0.5, "peer": 1.0, "ratio": 2.0, "limit_share": 0.25},
            {"name": "loss", "unit": "nats", "ours": 1e-7, "peer": None, "ratio": None, "limit_share": None},
        ]
    }


def test_the_table_shows_figures_notes_and_what_is_wrong(bench):
    rows = [bench.report.Row("add", "us", 0.5, 1234.5, 2469.0, 0.25, "a note"), bench.report.Row("loss", "nats", 1e-7)]
    lines = bench.report.text(bench.report.Report(rows, ["loss: too far"], {"ours": "1"}, {"torch": "2"})).splitlines()
    assert [re.split(r"\s\s+", line) for line in lines[-3:-1]] == [
        ["add", "0.500", "1,234", "2469.00", "25.0%", "us", "a note"],
        ["loss", "1.0e-07", "-", "-", "-", "nats"],
    ]
    assert lines[-1] == "WRONG loss: too far"


def test_variables_that_change_libraries_are_shown(bench):
    shown = bench.report.header({}, {}, {"OPENBLAS_CORETYPE": "Haswell", "HOME": "here"})
    assert shown.endswith("set in the environment, for both sides: OPENBLAS_CORETYPE=Haswell")
    assert "set in the environment" not in bench.report.header({}, {}, {})


def test_sides_take_turns(bench):
    order, seconds = [], iter([1.0, 8.0, 2.0, 6.0, 3.0, 4.0])

    def side(name):
        order.append(name)
        return next(seconds)

    turns = bench.paired.alternate(lambda: side("ours"), lambda: side("peer"), num_pairs=3, pause=0.0)
    assert order == ["ours", "peer"] * 3
    assert (turns.ours, turns.peer) == ((1.0, 2.0, 3.0), (8.0, 6.0, 4.0))
    assert (turns.medians, turns.ratio) == ((2.0, 6.0), 3.0)
    assert (turns.best, turns.best_ratio) == ((1.0, 4.0), 4.0)
    low, high = turns.quartiles
    assert 4 / 3 <= low <= 3 <= high <= 8


WORKER = """
import os, sys, worker
def hello(num_threads): print("no reply"); return {"threads": os.environ["OPENBLAS_NUM_THREADS"]}
def add(a, b): return a + b
def leave(): os._exit(7)
worker.serve({f.__name__: f for f in (hello, add, leave, worker.peak_memory)})
"""


@pytest.fixture
def adder(bench, repo):
    start = f"import sys; sys.path.insert(0, {str(repo / 'tools' / 'bench')!r})\n{WORKER}"
    with bench.worker.Worker("adder", [sys.executable, "-c", start], 3) as worker:
        yield worker


def test_a_worker_answers_with_as_many_threads_as_told(adder):
    assert adder.versions == {"threads": "3"}
    assert adder("add", a=[1], b=[2]) == [1, 2]
    assert adder("peak_memory") is None or 1 < adder("peak_memory") < 1000


def test_a_worker_goes_on_after_an_error(bench, adder):
    with pytest.raises(bench.worker.Failure, match="'adder' failed at 'add': TypeError: "):
        adder("add", a=1, b="2")
    assert adder("add", a=1, b=2) == 3


def test_a_worker_that_ended_is_named(bench, adder):
    with pytest.raises(bench.worker.Failure, match="'adder' ended with status 7 at 'leave'"):
        adder("leave")
    with pytest.raises(bench.worker.Failure, match="'adder' ended with status 7 at 'add'"):
        adder("add", a=1, b=2)


def test_our_worker_executes_every_statement(bench):
    f = {name: np.array(rows, np.float32) for name, rows in bench.blocks.inputs().items()}
    with bench.worker.start_ours(1) as ours:
        values = {name: ours("value", statement=s, result=r) for name, (s, r) in bench.eager.STATEMENTS.items()}
    assert {name: len(value) for name, value in values.items() if len(value) != 256} == dict.fromkeys(
        ["sum_16x16", "sum_16x16_grad"], 1
    )
    np.testing.assert_allclose(values["matmul_16x16"], (f["x"] @ f["y"]).ravel(), rtol=1e-4, atol=1e-5)
    by_hand = f["y"] * f["w"].sum(axis=1)  # of the sum over (z y) w
    np.testing.assert_allclose(values["forward_backward_3op"], by_hand.ravel(), rtol=1e-4, atol=1e-5)


def test_our_worker_hands_out_the_job_that_it_trains(bench, tmp_path):
    with bench.worker.start_ours(1) as ours:
        job = ours("begin", folder=str(tmp_path), num_steps=3)
        losses = ours("train", num_steps=2)["losses"]
    weights, batches = np.load(tmp_path / "weights.npz"), np.load(tmp_path / "batches.npz")
    sizes = job["sizes"]
    assert sizes.keys() == {"vocab_size", "block_size", "num_layers", "num_heads", "num_channels"}
    assert weights["transformer.wte.weight"].shape == (sizes["vocab_size"], sizes["num_channels"])
    assert weights["transformer.h.0.attn.c_attn.weight"].size == 3 * sizes["num_channels"] ** 2
    assert batches["inputs"].shape == batches["targets"].shape == (3, job["batch_size"], sizes["block_size"])
    assert (batches["inputs"][:, :, 1:] == batches["targets"][:, :, :-1]).all()
    assert losses == pytest.approx([np.log(sizes["vocab_size"])] * 2, abs=0.1)


class Side:
    """A side that answers at once: `value` and `losses` are its results."""

    def __init__(self, value, losses, seconds):
        self.versions = {"side": "1"}
        self.value, self.losses, self.seconds = value, losses, seconds

    def __call__(self, what, **arguments):
        if what == "begin":
            sizes = dict(vocab_size=65, block_size=64, num_layers=4, num_heads=4, num_channels=128)
            return {"batch_size": 12, "sizes": sizes, "settings": {}}
        train = {"losses": self.losses, "seconds": self.seconds}
        answers = {"value": self.value, "train": train, "fastest": self.seconds, "matmul": 0.02, "peak_memory": 100.0}
        return answers[what]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        pass


@pytest.fixture
def sides(bench, monkeypatch):
    """A function that puts two Sides in place of both workers, and numbers in place of jobs over ranks."""

    def put(ours, theirs):
        monkeypatch.setattr(bench.worker, "start_ours", lambda num_threads: ours)
        monkeypatch.setattr(bench.peer, "start", lambda num_threads: theirs)
        monkeypatch.setattr(bench.train, "PAUSE", 0.0)
        monkeypatch.setattr(bench.ranks, "job", job)

    def job(arguments, launcher=None):  # of ranks: a global op costs half, two ranks train twice as fast
        return {"global": 1.0, "plain": 2.0} if arguments == ["overhead"] else [2.0 if launcher else 1.0]

    return put


def test_every_bench_measures_the_rows_it_lists(bench, sides):
    sides(Side([1.0], [4.0, 3.0], 1.0), Side([1.0], [4.0, 3.00005], 2.0))
    for module in (bench.eager, bench.train):
        found = module.measure(module.ROWS, num_pairs=2)
        assert [row.name for row in found.rows] == module.ROWS
        assert found.failures == []
        for row in found.rows:
            assert row.ratio == {"loss_agreement": None, "peak_memory_mb": 1.0}.get(row.name, 2.0)
        for name in module.ROWS:
            assert [row.name for row in module.measure([name], num_pairs=1).rows] == [name]
    assert found.rows[0].ours == pytest.approx(5e-5)
    assert found.rows[1].ours == pytest.approx(25 * 12 * 64)


def test_results_that_differ_are_failures(bench, sides):
    sides(Side([1.0], [4.0, 3.0], 1.0), Side([1.001], [4.0, 3.0002], 2.0))
    assert bench.eager.measure(["add_16x16"], 1).failures == [
        "add_16x16: the results differ by 1.0e-03, where the largest is 1.0e+00"
    ]
    assert bench.train.measure(["loss_agreement"], 1).failures == ["loss_agreement: 2.0e-04 nats are above 1e-04"]


def test_the_peer_knows_nothing_of_ours_and_ours_nothing_of_torch(repo):
    known = {*sys.stdlib_module_names, "numpy"}
    for name, more in {"peer_torch": {"torch", "blocks", "worker"}, "blocks": set(), "worker": set()}.items():
        assert imports(repo / "tools" / "bench" / f"{name}.py") <= known | more
    assert "torch" not in imports(repo / "tools" / "bench" / "worker_flow.py")
    assert "torch" not in {dist.name for dist in distributions()}


def imports(path):
    """The top-level names of the modules that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}
