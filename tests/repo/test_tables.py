"""What is known of an op stands in tables, one row an op: each table has every op, or says why not."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import flow_autograd as autograd
import flow_core as flow
import flow_sbp.global_tensor  # noqa: F401 - it registers the op box
from flow_core.testing import CALLS
from flow_sbp.rules.inplace import TARGETS
from flow_sbp.rules.table import LOCAL, MODULES, NO_RULE, TABLE

OPS = Path(__file__).resolve().parents[2] / "packages/flow-core/src/flow_core/ops"
# Files of ops whose rules stand in another file, and why.
RULES_ELSEWHERE = {
    "attention": "nn",  # its second derivative is built like those of the other fused ops
    "creation": "random",  # neither has a derivative worth a file: they are listed together as having none
    "inplace": "random",
}
# Files of ops none of which has a sharding rule.
WHOLE = {"decomposition", "fourier", "solve"}


def stems(repo, folder):
    return {path.stem for path in repo.glob(f"packages/{folder}/*.py")} - {"__init__"}


def test_every_op_has_a_derivative_or_a_reason_why_not():
    ops, rules, reasons = set(flow.OPS), set(autograd.VJPS), set(autograd.NO_VJP)
    assert ops - rules - reasons == set(), "ops without a row"
    assert rules & reasons == set(), "ops with a derivative and a reason to have none"
    assert (rules | reasons) - ops == set(), "rows without an op"
    assert all(isinstance(why, str) and len(why.split()) > 2 for why in autograd.NO_VJP.values())


@pytest.mark.parametrize("name", sorted(flow.OPS))
def test_an_op_is_documented_and_says_what_it_takes(name):
    op = flow.OPS[name]
    doc = inspect.getdoc(op)
    assert doc, f"{name} has no docstring"
    assert doc.rstrip()[-1] in ".,)", f"the docstring of {name} breaks off"
    assert op.name == name
    assert name in repr(op)
    assert list(op.kernels) == ["cpu"]
    kinds = {p.kind for p in op.__signature__.parameters.values()}
    assert kinds <= {
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
    }


@pytest.mark.parametrize("name", sorted(autograd.VJPS))
def test_a_rule_has_a_function_for_each_argument_or_one_for_all(name):
    rule, op = autograd.VJPS[name], flow.OPS[name]
    if rule.joint is not None:
        assert rule.functions == ()
    elif not op.variadic:
        assert len(rule.functions) == len(op.tensor_names)
    attrs = set(op.attr_names)
    for function in [rule.joint] if rule.joint else [f for f in rule.functions if f is not None]:
        parameters = inspect.signature(function).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            continue
        names = [p.name for p in parameters]
        assert attrs <= set(names), f"the rule of {name} does not take {attrs - set(names)}"


@pytest.mark.parametrize("name", sorted(flow.OPS))
def test_the_arguments_in_which_an_op_is_linear_are_arguments_of_it(name):
    op = flow.OPS[name]
    for place in op.linear:
        for i in place if isinstance(place, tuple) else (place,):
            assert i is ... or op.variadic or 0 <= i < len(op.tensor_names)


def test_every_op_has_calls_to_test_it_with():
    assert set(CALLS) == set(flow.OPS) - {"box"}  # box is flow-sbp's, and takes global tensors alone


def test_every_op_has_a_sharding_rule_or_a_reason_why_not():
    ops, rules, reasons = set(flow.OPS), set(TABLE), set(NO_RULE)
    assert ops - rules - reasons == set(), "ops without a row"
    assert rules & reasons == set(), "ops with a rule and a reason to have none"
    assert (rules | reasons) - ops == set(), "rows without an op"
    assert all(isinstance(why, str) and len(why.split()) > 2 for why in NO_RULE.values())
    assert set(LOCAL) <= rules


def test_every_op_that_writes_in_place_says_where_its_arguments_must_lie():
    inplace = {name for name, op in flow.OPS.items() if isinstance(op, flow.InPlaceOp)}
    assert set(TARGETS) == inplace
    assert inplace <= set(NO_RULE)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.split(".")[-1])
def test_a_sharding_rule_stands_in_the_file_that_is_named_as_its_op_s(module):
    stem = module.__name__.split(".")[-1]
    ops = vars(importlib.import_module(f"flow_core.ops.{stem}"))
    assert module.RULES
    for name in module.RULES:
        assert flow.OPS[name] in [value for value in ops.values() if isinstance(value, flow.Op)]


def test_every_public_op_is_an_op_of_the_table():
    public = {value.name for value in vars(flow).values() if isinstance(value, flow.Op)}
    assert public <= set(flow.OPS)
    for name in public:
        assert getattr(flow, name) is flow.OPS[name]


def test_a_file_of_rules_stands_beside_each_file_of_ops(repo):
    ops, rules = stems(repo, "flow-core/src/flow_core/ops"), stems(repo, "flow-autograd/src/flow_autograd/rules")
    assert rules - ops == set(), "files of rules without a file of ops"
    assert ops - rules == set(RULES_ELSEWHERE), "files of ops without a file of rules and without a reason"
    assert set(RULES_ELSEWHERE.values()) <= rules
    helpers = {"dims", "table"}
    assert stems(repo, "flow-sbp/src/flow_sbp/rules") - helpers == ops - WHOLE


@pytest.mark.parametrize("stem", sorted(path.stem for path in OPS.glob("[a-z]*.py")))
def test_a_rule_stands_in_the_file_that_is_named_as_its_op_s(repo, stem):
    """Read from the sources: each op defined in ops/<stem>.py is named in rules/<stem>.py."""
    module = importlib.import_module(f"flow_core.ops.{stem}")
    text = ast.parse((repo / "packages/flow-core/src/flow_core/ops" / f"{stem}.py").read_text())
    here = {node.name for node in text.body if isinstance(node, ast.FunctionDef)}
    here |= {
        t.id for node in text.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
    }
    ops = {name for name in here if isinstance(getattr(module, name, None), flow.Op)}
    rules = (
        repo / "packages/flow-autograd/src/flow_autograd/rules" / f"{RULES_ELSEWHERE.get(stem, stem)}.py"
    ).read_text()
    named = {node.attr for node in ast.walk(ast.parse(rules)) if isinstance(node, ast.Attribute)}
    named |= {node.id for node in ast.walk(ast.parse(rules)) if isinstance(node, ast.Name)}
    assert ops
    assert ops - named == set(), f"ops of {stem}.py without a rule in the file beside it"
