"""Every signature that follows from a rule is sound, and rules that are wrong are found out."""

import numpy as np
import pytest

from flow_sbp import Rule, mesh_signatures, rule_of, signatures, validate
from flow_sbp.rules.table import TABLE

SAME = ((5, 3),), ((),), ((1,),), ((2, 0),)
PAIRS = ((5, 3), (5, 3)), ((4, 1, 3), (5, 3)), ((), (2,)), ((1,), (7,)), ((0, 3), (1, 1))
FUNCTIONS = {
    "add": (np.add, PAIRS),
    "sub": (np.subtract, PAIRS),
    "mul": (np.multiply, PAIRS),
    "div": (np.divide, PAIRS),
    "neg": (np.negative, SAME),
    "exp": (np.exp, SAME),
    "matmul": (
        np.matmul,
        (
            ((5, 3), (3, 4)),
            ((2, 1, 5, 3), (7, 3, 2)),
            ((6, 5, 3), (3, 2)),
            ((3,), (3,)),
            ((3,), (2, 3, 4)),
            ((2, 5, 3), (3,)),
            ((1, 1), (1, 3)),
        ),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_signature_is_sound(name):
    function, cases = FUNCTIONS[name]
    for shapes in cases:
        assert validate(rule_of(name, shapes), function, shapes) > 0


def test_the_signatures_of_matmul_are_the_known_ones():
    shapes = (5, 3), (3, 4)
    assert [str(row) for row in signatures(rule_of("matmul", shapes), shapes)] == [
        "B, B -> B",
        "S(0), B -> S(0)",
        "S(1), S(0) -> P",
        "B, S(1) -> S(1)",
        "P, B -> P",
        "B, P -> P",
    ]
    assert len(mesh_signatures(rule_of("matmul", shapes), shapes, 2)) == 36


def test_a_dim_of_one_that_broadcasts_stays_whole():
    shapes = (4, 1), (4, 3)
    rows = [str(row) for row in signatures(rule_of("mul", shapes), shapes)]
    assert "B, S(1) -> S(1)" in rows
    assert "S(0), S(0) -> S(0)" in rows
    assert not any(row.startswith("S(1)") for row in rows)


@pytest.mark.parametrize(
    ("rule", "function", "shapes"),
    [
        (Rule("... -> ...", ((0,),)), np.exp, ((4,),)),
        (Rule("..., ... -> ...", ((0,), (1,))), np.add, ((4,), (4,))),
        (Rule("..., ... -> ...", ((0, 1),)), np.multiply, ((4,), (4,))),
        (Rule("m n -> m n"), lambda x: np.cumsum(x, axis=1), ((3, 4),)),
        (Rule("m n -> m"), lambda x: x.max(axis=1, initial=-9), ((3, 4),)),
        (Rule("m n -> m n"), lambda x: x.T, ((3, 4),)),
    ],
)
def test_a_wrong_rule_is_found_out(rule, function, shapes):
    with pytest.raises(ValueError, match=r"wrong by up to|the rule's output"):
        validate(rule, function, shapes)


def test_other_reductions_and_whole_factors():
    assert validate(Rule("m n -> m", reduce="max"), lambda x: x.max(axis=1, initial=-np.inf), ((3, 4),))
    assert validate(Rule("m n -> m n", whole=("n",)), lambda x: np.cumsum(x, axis=1), ((3, 4),))
    assert validate(Rule("m n -> m n, m", ((0,),)), lambda x: (-x, x.sum(axis=1)), ((3, 4),))


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("m k", {}, "is no rule"),
        ("m m -> m", {}, "twice"),
        ("m -> k", {}, "no input has"),
        ("m ... -> m", {}, "comes first"),
        ("m -> m", {"linear": ((1,),)}, "names inputs"),
        ("m -> m", {"reduce": "avg"}, "reduce is one of"),
        ("m -> m", {"whole": ("k",)}, "names no factors"),
        ("m -> 3", {}, "is no factor"),
    ],
)
def test_what_is_no_rule_is_refused(text, options, says):
    with pytest.raises(ValueError, match=says):
        Rule(text, **options)


def test_shapes_that_do_not_fit_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match="factor k is 3 in one input and 4 in another"):
        signatures(rule_of("matmul", ((5, 3), (4, 2))), ((5, 3), (4, 2)))
    with pytest.raises(ValueError, match="batch dim 1 from the right is 3 in one input and 4"):
        signatures(rule_of("add", ((5, 3), (4,))), ((5, 3), (4,)))
    with pytest.raises(ValueError, match="takes 2 inputs, got 1"):
        signatures(rule_of("add", ((5,), (5,))), ((5,),))


def test_an_op_without_a_rule_is_named():
    with pytest.raises(ValueError, match="'fft' has no sharding rule"):
        rule_of("fft", ((3,),))


def test_what_is_proved_here_with_numpy_alone_has_a_rule():
    assert set(FUNCTIONS) <= set(TABLE)  # tests/sbp/flow proves all of them
