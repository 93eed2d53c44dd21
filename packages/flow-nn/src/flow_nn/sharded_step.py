"""One training step over a mesh of ranks: the stages of a pipeline as actors, dp and tp inside each stage by sbp."""

import flow_core as flow
import flow_pipeline as pipeline
from flow_autograd import no_grad
from flow_nn.functional import token_cross_entropy
from flow_nn.parallel import BATCH, WHOLE, blocks_of, is_here, refresh_tied, scalar_layout, shared
from flow_nn.step import microbatches
from flow_sbp import Layout
from flow_sbp.global_tensor import absent, box_many, distribute, global_tensor

STALL_SECONDS = 300  # without progress of a pipeline; a first step plans much, later ones take far less


class ShardedStep:
    """The step of a parallelized model; every rank of the mesh calls it with the same whole batch."""

    def __init__(self, model, optimizer, mesh, comm, *, max_norm, num_microbatches=1):
        self.model, self.optimizer, self.mesh, self.comm = model, optimizer, mesh, comm
        self.max_norm, self.num_microbatches = max_norm, num_microbatches
        self.stage = mesh.stage_of(comm.rank)
        self.here, self.last = mesh.stage(self.stage), mesh.stage(mesh.pp - 1)
        self.blocks = [model.transformer.h[i] for i in blocks_of(model.config.num_layers, mesh.pp)[self.stage]]
        self.parameters = [p for p in model.parameters() if is_here(p)]
        self.runtime = self.build() if mesh.pp > 1 else None

    def build(self):
        """The actors of this rank's stage: one-forward-one-backward with its peers in the other stages."""
        ranks = [self.comm.rank + (s - self.stage) * self.here.size for s in range(self.mesh.pp)]
        plan = pipeline.plan_of(pipeline.schedule("1f1b", self.mesh.pp, self.num_microbatches), ranks)
        functions = {f"F{self.stage}": self.forward, f"BW{self.stage}": self.backward, "out": lambda index, loss: loss}
        return pipeline.Runtime(plan, functions, self.comm, timeout=STALL_SECONDS)

    def __call__(self, inputs, targets):
        """Takes the step; returns the loss of the batch (batch, tokens), a float."""
        self.optimizer.zero_grad()
        self.batches = microbatches(inputs, targets, self.num_microbatches)
        losses = self.run()
        total = None
        for loss in losses or ():
            total = loss if total is None else total + loss
        value = shared(total, self.number(self.last), self.mesh).item()
        self.settle()
        self.clip()
        self.optimizer.step()
        if self.mesh.pp > 1:
            refresh_tied(self.model, self.mesh)
        return value

    def run(self):
        """Forward and backward of all microbatches; the list of their losses on the last stage, None elsewhere."""
        if self.runtime is not None:
            self.model.tied.grad = None
            return self.runtime.run(keep=["out"]).get("out")
        losses = []
        for index in range(self.num_microbatches):
            loss, saved = self.forward(index)
            self.backward(index, saved)
            losses.append(loss)
        return losses

    def forward(self, index, x=None):
        """This stage's forward of a microbatch: x is the shard of the stage before; returns what goes on, and what backward needs."""
        inputs, targets = self.batches[index]
        if self.stage == 0:
            h = enter = self.model.embed(distribute(inputs, self.here, BATCH))
        else:
            h = enter = self.activation(x, inputs).requires_grad_()
        for block in self.blocks:
            h = block(h)
        if self.stage == self.mesh.pp - 1:
            loss = token_cross_entropy(self.model.head(h), distribute(targets, self.here, BATCH))
            if self.num_microbatches > 1:
                loss = loss / self.num_microbatches
            return loss.detach(), (enter, loss)
        out = h.to_global(sbp=BATCH)
        return out.detach().to_local().numpy(), (enter, out)

    def backward(self, index, saved, g=None):
        """This stage's backward of a microbatch: g is the shard of the gradient of what went on; returns that of what came in."""
        enter, out = saved
        out.backward(None if g is None else self.activation(g, self.batches[index][0]))
        return None if self.stage == 0 else enter.grad.to_global(sbp=BATCH).to_local().numpy()

    def number(self, placement):
        """The layout of a loss or a norm that every rank of a stage has."""
        return scalar_layout(placement, self.model.transformer.wte.weight.dtype)

    def activation(self, shard, ids):
        """The global tensor (batch, tokens, channels) of which a stage hands on the shards."""
        layout = Layout((*ids.shape, self.model.config.num_channels), str(shard.dtype), self.here, BATCH)
        return global_tensor(flow.from_numpy(shard), layout, self.comm)

    def settle(self):
        """Brings every gradient to where its parameter is, whole or split alike: by one reduction for all. A tied one is added first."""
        if self.mesh.pp > 1:
            table, tied = self.model.transformer.wte.weight, self.model.tied
            layout = tied.layout
            g = absent(layout) if tied.grad is None else tied.grad.to_global(layout=layout)
            g = g.to_global(placement=table.placement, sbp=WHOLE)
            if is_here(table):
                table.grad = table.grad + g
        settled = box_many([p.grad for p in self.parameters], [p.layout for p in self.parameters])
        for p, g in zip(self.parameters, settled, strict=True):
            p.grad = g

    def clip(self):
        """Scales the gradients of all stages by one factor: each parameter counts once in the norm, wherever it lies."""
        with no_grad():
            own = None
            for p in self.parameters:
                square = flow.sum_of_squares(p.grad)
                own = square if own is None else own + square
            total = None
            for s in range(self.mesh.pp):
                square = shared(own if s == self.stage else None, self.number(self.mesh.stage(s)), self.mesh)
                total = square if total is None else total + square
            factor = flow.minimum(self.max_norm / (flow.sqrt(total) + 1e-6), 1.0).item()
            for p in self.parameters:
                p.grad.mul_(factor)

    def loss_sum(self, inputs, targets):
        """The sum of the losses of all targets, without gradients: the model's own code, from stage to stage."""
        logits = self.model(distribute(inputs, self.mesh.stage(0), BATCH))
        loss = token_cross_entropy(logits, distribute(targets, self.last, BATCH), reduction="sum")
        return loss.to_global(placement=self.mesh.everyone(), sbp=["B"]).item()

    def close(self):
        """Ends the actors; every rank calls it."""
        if self.runtime is not None:
            self.runtime.close()
