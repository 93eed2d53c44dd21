"""Every signature of every op's rule is sound: the op on shards, put together, is the op on the whole; wrong rules are found out."""

import numpy as np
import pytest
from hypothesis import given

import flow_core as flow
from flow_core.testing import CALLS, NIGHTLY, OpCall, calls, examples
from flow_sbp import Layout, Placement, Rule, assemble, mesh_signatures, rule_of
from flow_sbp.global_tensor.dispatch import part_of_nothing
from flow_sbp.infer import has_no_parts
from flow_sbp.rules import table
from flow_sbp.rules.table import TABLE
from flow_sbp.signature import bind
from flow_sbp.validate import addends

DTYPES = flow.bool, flow.int64, flow.float64  # of which most ops take the last alone
MESHES = [Placement([0, 1], "x"), Placement([2, 0, 1], "x"), Placement([[0, 1], [2, 3]], ("x", "y"))]
MESHES += [Placement([[0, 1, 2], [3, 4, 5]], ("x", "y"))] if NIGHTLY else []
TOLERANCE = {np.dtype("f4"): 1e-5, np.dtype("f8"): 1e-9}


def prove(call):
    """The number of signatures proved for a call, on all meshes; AssertionError for the first that is not sound."""
    op, arrays = call.op, [a for a in call.args if isinstance(a, np.ndarray)]
    checked = op.infer(*call.specs(), **call.attrs)
    out, attrs = checked if type(checked) is flow.Checked else (checked, {})
    specs, expected = out if isinstance(out, tuple) else (out,), [t.numpy() for t in call.run()]
    whole = [Layout(a.shape, a.dtype, MESHES[0], ["B"]) if isinstance(a, np.ndarray) else None for a in call.args]
    rule, shapes = rule_of(call.name, whole, attrs), tuple(a.shape for a in arrays)
    assert bind(rule, shapes).output_shapes == tuple(spec.shape for spec in specs)
    proved, rng = 0, np.random.default_rng(0)
    for mesh in MESHES:
        for row in mesh_signatures(rule, shapes, len(mesh.axes)):
            if any(has_no_parts(layout, sbp) for layout, sbp in zip(filter(None, whole), row.inputs, strict=True)):
                continue
            ins = [Layout(a.shape, a.dtype, mesh, sbp) for a, sbp in zip(arrays, row.inputs, strict=True)]
            outs = [Layout(s.shape, str(s.dtype), mesh, sbp) for s, sbp in zip(specs, row.outputs, strict=True)]
            parts = [addends(a, layout, rng) for a, layout in zip(arrays, ins, strict=True)]
            results = [
                run_on(op, call.args, [p[i] for p in parts], attrs, ins, outs, rank)
                for i, rank in enumerate(mesh.ranks)
            ]
            for i, (value, layout) in enumerate(zip(expected, outs, strict=True)):
                got, rtol = assemble([r[i] for r in results], layout), TOLERANCE.get(value.dtype, 0)
                where = f"{call.name}: {rule}, signature {row}, inputs {shapes}, output {i}, attributes {attrs}"
                np.testing.assert_allclose(got, value, rtol, rtol, err_msg=where, verbose=True)
            proved += 1
    return proved


def run_on(op, args, shards, attrs, ins, outs, rank):
    """What one rank makes of its shards: the arrays that the op returns there."""
    shards = iter(shards)
    args = [flow.from_numpy(next(shards)) if isinstance(a, np.ndarray) else a for a in args]
    if op.name in table.LOCAL:
        attrs = table.LOCAL[op.name](attrs, ins, outs, rank)
    nothing = part_of_nothing(op, ins, outs, rank)
    if nothing is not None:
        return [nothing]
    out, _ = op.run(args, attrs)
    return [t.numpy() for t in (out if isinstance(out, tuple) else (out,))]


@pytest.mark.parametrize("name", sorted(set(TABLE) & set(CALLS)))
def test_every_signature_is_sound(name):
    @examples(40)
    @given(calls(name, DTYPES))
    def law(call):
        assert prove(call) >= len(MESHES)

    law()


ARRAY = np.linspace(-1, 2, 12).reshape(4, 3)
IDS = np.array([2, 0, 2, 1])


@pytest.mark.parametrize(
    ("name", "args", "attrs", "wrong"),
    [
        ("exp", (ARRAY,), {}, Rule("... -> ...", ((0,),))),
        ("add", (ARRAY, 1.5), {}, Rule("... -> ...", ((0,),))),
        ("mul", (ARRAY, ARRAY), {}, Rule("..., ... -> ...", ((0, 1),))),
        ("softmax", (ARRAY,), {"dim": 1}, Rule("r c -> r c")),
        ("mean", (ARRAY,), {"dim": 0}, Rule("r c -> c")),
        ("amax", (ARRAY,), {"dim": 0}, Rule("r c -> c")),
        ("argmax", (ARRAY,), {"dim": 0}, Rule("r c -> c", reduce="max")),
        ("permute", (ARRAY,), {"dims": (1, 0)}, Rule("r c -> r c")),
        ("reshape", (ARRAY,), {"shape": (3, 4)}, Rule("r c -> c r")),
        ("slice_", (ARRAY,), {"index": (("slice", None, None, -1),)}, Rule("r c -> r c")),
        ("take_rows", (IDS, ARRAY), {}, Rule("i, v c -> i c", ((1,),))),
        ("add_rows", (ARRAY, IDS), {"num_rows": 3}, Rule("i c, i -> v c", whole=("i",), fresh=(("v", 4),))),
        ("linear", (ARRAY, ARRAY, IDS / 2), {}, Rule("r k, o k, o -> r o", ((0, 2), (1, 2)))),
        ("layer_norm", (ARRAY, None, None), {}, Rule("r c -> r c, r, r")),
        ("cast", (ARRAY,), {"dtype": flow.int64}, Rule("... -> ...", ((0,),))),
        ("full_as", (ARRAY,), {"fill_value": 1}, Rule("... -> ...", ((0,),))),
    ],
)
def test_a_wrong_rule_is_found_out(monkeypatch, name, args, attrs, wrong):
    assert prove(OpCall(name, args, attrs))
    monkeypatch.setitem(TABLE, name, wrong)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        prove(OpCall(name, args, attrs))


@pytest.mark.parametrize(
    ("name", "args", "attrs"),
    [
        ("reshape", (ARRAY,), {"shape": (4, 3, 1)}),
        ("expand", (ARRAY,), {"shape": (2, 4, 3)}),
        ("dropout_mask", (ARRAY, 1, 2), {"p": 0.5}),
        ("slice_backward", (ARRAY[:, 1],), {"index": (("slice", None, None, None), 1), "shape": (4, 3)}),
    ],
)
def test_attributes_that_are_not_each_rank_s_own_are_found_out(monkeypatch, name, args, attrs):
    assert prove(OpCall(name, args, attrs))
    monkeypatch.delitem(table.LOCAL, name)
    with pytest.raises((AssertionError, ValueError)):
        prove(OpCall(name, args, attrs))


@pytest.mark.parametrize(
    ("old", "new"),
    [((0, 0), (0, 1)), ((0,), (0, 0)), ((0, 3), (0,)), ((3, 0), (0, 3)), ((2, 0, 3), (2, 7, 0)), ((0, 4), (0, 7))],
)
def test_a_reshape_of_nothing_is_sound(old, new):
    assert prove(OpCall("reshape", (np.zeros(old),), {"shape": new}))


def test_every_op_with_a_rule_is_proved_here():
    assert set(TABLE) <= set(CALLS)
