"""A GPT laid out over a mesh of ranks: data parallel (dp), tensor parallel (tp) and pipeline stages (pp).

The model's code does not change. Its parameters become global tensors, split over tp by the table below, and the blocks of a stage live
on that stage's ranks.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flow_autograd import no_grad
from flow_nn.module import Parameter
from flow_sbp import Layout, Placement
from flow_sbp.global_tensor import GlobalTensor, absent, distribute

BATCH = ("S(0)", "B")  # how a batch and the activations between stages lie on (dp, tp)
WHOLE = ("B", "B")

# What tp splits, by the end of a parameter's name: the dim of heads, or of the hidden channels. The rest is the same on all of tp.
TENSOR_SPLITS = {
    "attn.c_attn.weight": 1,
    "attn.c_attn.bias": 1,
    "attn.c_proj.weight": 1,
    "mlp.c_fc.weight": 0,
    "mlp.c_fc.bias": 0,
    "mlp.c_proj.weight": 1,
}


@dataclass(frozen=True)
class Mesh:
    """dp x tp x pp ranks: the ranks of a stage follow one another, tp innermost."""

    dp: int = 1
    tp: int = 1
    pp: int = 1

    @property
    def size(self):
        """The number of ranks."""
        return self.dp * self.tp * self.pp

    def stage(self, number):
        """The placement of a stage: a mesh of axes dp and tp."""
        ranks = np.arange(self.dp * self.tp).reshape(self.dp, self.tp) + number * self.dp * self.tp
        return Placement(ranks, ("dp", "tp"))

    def stage_of(self, rank):
        """The stage that a rank belongs to."""
        return rank // (self.dp * self.tp)

    def everyone(self):
        """All ranks in one row."""
        return Placement(list(range(self.size)), ("all",))

    def check(self, config, batch_size, num_microbatches):
        """ValueError for a model or batch that the mesh cannot take."""
        if self.pp > config.num_layers:
            raise ValueError(
                f"--pp {self.pp} stages need a layer each at least, the model has --layers {config.num_layers}"
            )
        if self.tp > config.num_heads:
            raise ValueError(
                f"--tp {self.tp} ranks need a head each at least, the model has --heads {config.num_heads}"
            )
        if batch_size % num_microbatches:
            raise ValueError(f"--microbatches {num_microbatches} do not divide --batch-size {batch_size}")


def sbp_of(name):
    """How a parameter lies on (dp, tp)."""
    dim = next((dim for ending, dim in TENSOR_SPLITS.items() if name.endswith(ending)), None)
    return ("B", "B" if dim is None else f"S({dim})")


def blocks_of(num_layers, num_stages):
    """The range of blocks of each stage: the first num_layers % num_stages stages have one more."""
    bounds = [
        sum(num_layers // num_stages + (i < num_layers % num_stages) for i in range(s)) for s in range(num_stages + 1)
    ]
    return [range(a, b) for a, b in pairwise(bounds)]


def parallelize(model, mesh):
    """Lays a GPT, alike on every rank, out over the mesh, in place; returns it.

    Every rank then has a handle on every parameter, and data of its own stage's. Where there are several stages, `model.tied` is the
    last stage's copy of the token table.
    """
    blocks = blocks_of(model.config.num_layers, mesh.pp)
    stage_of_block = {i: s for s, own in enumerate(blocks) for i in own}
    for prefix, module in model.named_modules():
        for name, p in module._parameters.items():
            if p is not None:
                full = f"{prefix}.{name}"
                stage = stage_of_parameter(full, stage_of_block, mesh.pp)
                module._parameters[name] = Parameter(distribute(p.detach(), mesh.stage(stage), sbp_of(full)))
    for i, block in enumerate(model.transformer.h):
        for module in (block, block.ln_2):
            module.register_forward_pre_hook(entering(mesh.stage(stage_of_block[i])))
    model.transformer.ln_f.register_forward_pre_hook(entering(mesh.stage(mesh.pp - 1)))
    if mesh.pp > 1:
        table = model.transformer.wte.weight.detach()
        model.tied = table.to_global(placement=mesh.stage(mesh.pp - 1), sbp=WHOLE).requires_grad_()
    return model


def stage_of_parameter(name, stage_of_block, num_stages):
    parts = name.split(".")
    if parts[1] == "h":
        return stage_of_block[int(parts[2])]
    return num_stages - 1 if parts[1] == "ln_f" else 0


def entering(placement):
    """A hook that takes a module's input to the stage where it lives, and adds up what the ranks of tp have parts of.

    So each half of a block adds up once forward and once backward, as in Megatron-LM (1909.08053, section 3). Left to itself each op
    would take what costs it the fewest bytes, and gather the weights that tp is there to split.
    """

    def hook(module, args):
        return tuple(x.to_global(placement=placement, sbp=BATCH) for x in args)

    return hook


def refresh_tied(model, mesh):
    """Copies the token table to the last stage, where the head uses it."""
    table = model.transformer.wte.weight.detach()
    with no_grad():
        model.tied.copy_(table.to_global(placement=mesh.stage(mesh.pp - 1), sbp=WHOLE))


def shared(value, layout, mesh):
    """A global tensor, known on the ranks of `layout` (None elsewhere), as a whole on every rank of the mesh."""
    x = absent(layout) if value is None else value.to_global(layout=layout)
    return x.to_global(placement=mesh.everyone(), sbp=["B"])


def scalar_layout(placement, dtype):
    """The layout of a number that every rank of a stage has."""
    return Layout((), str(dtype), placement, WHOLE)


def is_here(p):
    """True for a parameter of which this rank holds data."""
    return not isinstance(p, GlobalTensor) or p.shard is not None
