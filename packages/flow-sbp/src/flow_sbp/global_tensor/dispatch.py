"""How an op runs on global tensors: infer, choose how its arguments must lie, box them there, run it on the shards, wrap the result.

A choice depends on metadata alone, so every rank makes the same one, and it is remembered for the layouts it was made for.
"""

from typing import NamedTuple

import numpy as np

import flow_core as flow
from flow_core.dtype import as_dtype
from flow_core.op import attribute_key
from flow_core.spec import SCALAR_SPECS, TensorSpec
from flow_sbp.boxing import plan
from flow_sbp.dtype import dtype_of
from flow_sbp.execute import execute
from flow_sbp.global_tensor.watch import moving
from flow_sbp.infer import infer, one_placement
from flow_sbp.layout import Layout
from flow_sbp.reduction import neutral
from flow_sbp.rules.creation import READS_NO_VALUE
from flow_sbp.rules.inplace import TARGETS
from flow_sbp.rules.reduce import OF_NOTHING
from flow_sbp.rules.table import LOCAL, rule_of

CACHE_SIZE = 4096
decisions = {}


class Decision(NamedTuple):
    """What to do with a call: the plan of each argument (None: as it lies), and what comes out."""

    plans: list
    specs: object  # the output's TensorSpec, or a tuple of them
    layouts: tuple
    attrs: dict  # in normal form, of the logical op
    local: dict  # of the op on this rank's shards
    nothing: object  # this rank's part of the output, an array, where it has no elements to run the op on; else None


def run(op, tensors, attrs, make):
    """(output, attributes in normal form) of an op with a global tensor among its arguments; `make` wraps the output's shards."""
    comm = next(t.comm for t in tensors if hasattr(t, "layout"))
    if op.name == "box":
        return run_box(tensors[0], attrs["layout"], make)
    key = (op.name, comm.rank, *map(word, tensors), *[attribute_key(*item) for item in attrs.items()])
    decision = decisions.get(key)
    if decision is None:
        if len(decisions) >= CACHE_SIZE:
            decisions.clear()
        decision = decisions[key] = decide(op, tensors, attrs, comm.rank)
    if comm.rank not in next(t.placement for t in tensors if hasattr(t, "layout")):
        return wrap(decision, [None] * len(decision.layouts), comm, make), decision.attrs
    shards = []
    for place, (t, step) in enumerate(zip(tensors, decision.plans, strict=True)):
        if step is not None:
            moving(op.name, place, step)
        shards.append(t if not hasattr(t, "layout") else t.shard if step is None else moved(t, step))
    if decision.nothing is not None:
        return wrap(decision, (flow.from_numpy(decision.nothing.copy()),), comm, make), decision.attrs
    out, _ = op.run(shards, decision.local)
    return wrap(decision, out if type(out) is tuple else (out,), comm, make), decision.attrs


def word(t):
    """An argument as a key: its layout, or its type where it is a number or absent."""
    return t.layout if hasattr(t, "layout") else type(t)


def decide(op, tensors, attrs, rank):
    """The Decision for a call; raises the op's own errors for the logical shapes, and refuses plain tensors."""
    for place, t in enumerate(tensors):
        if not (hasattr(t, "layout") or t is None or type(t) in SCALAR_SPECS):
            what = f"a plain tensor ({t.spec})" if isinstance(t, flow.Tensor) else f"a {type(t).__name__}"
            raise TypeError(
                f"{op.name}: argument {place} is {what} among global ones; lift it first, with "
                "distribute(x, placement, sbp) if every rank has the whole value, from_shards(x, placement, sbp) if each has its part"
            )
    specs = [t.spec if hasattr(t, "layout") else None if t is None else SCALAR_SPECS[type(t)] for t in tensors]
    op.check(specs)
    checked = op.infer(*specs, **attrs)
    out, normal = checked if type(checked) is flow.Checked else (checked, {})
    outs = (out,) if isinstance(out, TensorSpec) else out
    args = [t.layout if hasattr(t, "layout") else None for t in tensors]
    layouts = [layout for layout in args if layout is not None]
    one_placement(layouts)
    if op.name in TARGETS:
        wanted = TARGETS[op.name](*args)
        results = ()
    else:
        read = [whole(layout) for layout in layouts] if op.name in READS_NO_VALUE else layouts
        rule = rule_of(op.name, args, normal)
        choice = infer(rule, tuple(read), tuple(str(spec.dtype) for spec in outs))
        ready, results = iter(choice.inputs), choice.outputs
        wanted = [None if layout is None else next(ready) for layout in args]
        for spec, layout in zip(outs, results, strict=True):
            assert spec.shape == layout.shape, f"{op.name}: infer says {spec}, the sharding rule {layout}"
    if op.name in READS_NO_VALUE:
        wanted = args
    plans = [None if have == want else plan(have, want) for have, want in zip(args, wanted, strict=True)]
    local, nothing = normal, None
    if rank in layouts[0].placement:
        ready = [want for want in wanted if want is not None]
        if op.name in LOCAL:
            local = LOCAL[op.name](normal, ready, results, rank)
        nothing = part_of_nothing(op, ready, results, rank)
    return Decision(plans, out, results, normal, local, nothing)


def part_of_nothing(op, ins, outs, rank):
    """This rank's part of the output, an array, if the op would find no elements here to make it of; else None."""
    if op.name not in OF_NOTHING or 0 not in ins[0].local_shape(rank) or 0 in outs[0].local_shape(rank):
        return None
    dtype = dtype_of(outs[0].dtype)
    part = np.full(outs[0].local_shape(rank), neutral(OF_NOTHING[op.name], dtype), dtype.words)
    return part.view(as_dtype("bfloat16")) if dtype.name == "bf16" else part


def whole(layout):
    """The layout with B where it is partial."""
    return Layout.by_dim(layout.shape, layout.dtype, layout.placement, layout.splits, (), layout.sizes)


def wrap(decision, shards, comm, make):
    """The output, or a tuple of several, around its shards."""
    specs = decision.specs if type(decision.specs) is tuple else (decision.specs,)
    outs = [make(*parts, comm) for parts in zip(shards, specs, decision.layouts, strict=True)]
    return outs[0] if type(decision.specs) is not tuple else tuple(outs)


def run_box(x, layout, make):
    """x laid out otherwise, and the attributes that its gradient needs."""
    if (layout.shape, layout.dtype) != (x.layout.shape, x.layout.dtype):
        raise ValueError(f"box: {x.layout} cannot become {layout}, which is of another shape or dtype")
    return make(box_shard(x, layout, "box"), x.spec, layout, x.comm), {"layout": layout, "src": x.layout}


def box_shard(x, layout, name):
    """This rank's shard of x laid out by `layout`; None if it holds none there."""
    if layout == x.layout:
        return x.shard
    step = plan(x.layout, layout)
    moving(name, 0, step, asked=True)
    return moved(x, step)


def moved(x, step):
    """This rank's shard of x after a plan, which is checked already: shards fit their layouts by construction."""
    array = execute(step, None if x.shard is None else x.shard.data, x.comm, check=False)
    return None if array is None else flow.from_numpy(array)
