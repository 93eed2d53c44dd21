"""A training run: what it depends on, and the state that a checkpoint holds."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import flow_core as flow
from flow_autograd import no_grad
from flow_nn import checkpoint
from flow_nn.models.gpt import GPT, GPTConfig
from flow_nn.optim import AdamW, warmup_cosine
from flow_nn.parallel import Mesh, is_here, parallelize, refresh_tied
from flow_nn.sharded_step import ShardedStep
from flow_nn.step import Step
from flow_nn.text import training_batch, validation_batches
from flow_sbp.global_tensor import GlobalTensor, distribute

VALIDATION_BATCH = 48

# What a run that resumes may set otherwise.
FREE_SETTINGS = ("steps", "checkpoint_every", "validate_every", "num_microbatches")


@dataclass(frozen=True)
class Settings:
    """What a training run depends on, beside the text. The defaults are the well-known small setting for characters on a CPU."""

    steps: int = 2000
    batch_size: int = 12
    seed: int = 1337
    peak_lr: float = 1e-3
    floor_lr: float = 1e-4
    num_warmup: int = 100
    betas: tuple = (0.9, 0.99)
    weight_decay: float = 0.1
    max_norm: float = 1.0
    checkpoint_every: int = 250
    validate_every: int = 250
    num_microbatches: int = 1

    def learning_rate(self, step):
        """The rate of step 0, 1, ...; the cosine spans 2,000 steps at least, so that a short run is a long one's beginning."""
        return warmup_cosine(
            step, peak=self.peak_lr, floor=self.floor_lr, num_warmup=self.num_warmup, num_steps=max(self.steps, 2000)
        )


class Run:
    """A run in a folder: model, optimizer, and the step they stand at; over a mesh of ranks where it has more than one."""

    def __init__(self, corpus, config, settings, out, mesh=Mesh(), comm=None):  # noqa: B008 - a frozen value
        self.corpus, self.config, self.settings, self.out = corpus, config, settings, Path(out)
        self.mesh, self.comm = mesh, comm
        mesh.check(config, settings.batch_size, settings.num_microbatches)
        num_ranks = 1 if comm is None else comm.size
        if mesh.size != num_ranks:
            raise ValueError(f"{mesh} is of {mesh.size} ranks, there are {num_ranks}: give a communicator of as many")
        flow.manual_seed(settings.seed)
        self.model = GPT(config)
        self.num_parameters = sum(p.numel() for p in self.model.parameters())
        if comm is not None:
            parallelize(self.model, mesh)
        groups = decay_groups(self.model, settings.weight_decay)
        self.optimizer = AdamW(groups, lr=settings.peak_lr, betas=settings.betas)
        options = {"max_norm": settings.max_norm, "num_microbatches": settings.num_microbatches}
        if comm is None:
            self.take_step = Step(self.model, self.optimizer, **options)
        else:
            self.take_step = ShardedStep(self.model, self.optimizer, mesh, comm, **options)
        self.step = 0

    @property
    def leads(self):
        """True on the one rank that writes to the terminal and to the run's files."""
        return self.comm is None or self.comm.rank == 0

    def train_step(self):
        """One step: forward, backward, clip, update. Returns the loss of its batch."""
        s = self.settings
        inputs, targets = training_batch(
            self.corpus.train, self.step, seed=s.seed, batch_size=s.batch_size, block_size=self.config.block_size
        )
        for group in self.optimizer.param_groups:
            group["lr"] = s.learning_rate(self.step)
        loss = self.take_step(inputs, targets)
        self.step += 1
        return loss

    def validate(self):
        """The mean loss over all validation windows."""
        self.model.eval()
        total, count = 0.0, 0
        batches = validation_batches(self.corpus.val, batch_size=VALIDATION_BATCH, block_size=self.config.block_size)
        with no_grad():
            for inputs, targets in batches:
                total += self.take_step.loss_sum(inputs, targets)
                count += targets.numel()
        self.model.train()
        return total / count

    def save(self):
        """Writes a checkpoint of this step, each rank its slices; returns its path."""
        pieces = {name: piece for name, t in self.state().items() if (piece := piece_of(t)) is not None}
        return checkpoint.save(self.out / "checkpoints", self.step, pieces, self.meta(), comm=self.comm)

    def state(self):
        """The whole state, tensors by name: of those that are on other ranks alone, their handles."""
        state = {f"model.{name}": t for name, t in self.model.state_dict().items()}
        for name, p in self.model.named_parameters():
            state |= {f"optimizer.{name}.{key}": t for key, t in self.optimizer.state_of(p).items()}
        return state

    def meta(self):
        """What a checkpoint says about itself."""
        return {
            "model": asdict(self.config),
            "settings": json.loads(json.dumps(asdict(self.settings))),
            "chars": self.corpus.chars,
            "text": self.corpus.digest,
            "generator": flow.default_generator.get_state(),
        }

    def check(self, path, meta, step):
        """ValueError if a checkpoint is of another model, text or setting, or beyond this run's end."""
        if meta.get("text") != self.corpus.digest:
            raise ValueError(f"checkpoint {path} is of another text than {self.corpus.name}: give the --text it is of")
        check_same(path, "model", meta.get("model"), asdict(self.config))
        fixed = {k: v for k, v in self.meta()["settings"].items() if k not in FREE_SETTINGS}
        check_same(path, "setting", meta.get("settings"), fixed)
        if step > self.settings.steps:
            raise ValueError(f"checkpoint {path} is of step {step}, beyond --steps {self.settings.steps}")

    def restore(self, path):
        """Takes the state of a checkpoint, written on whatever mesh. ValueError, before anything changes, if it does not fit."""
        arrays, meta, step = checkpoint.load(path)
        self.check(path, meta, step)
        state = self.state()
        for name, t in state.items():
            if name not in arrays or (arrays[name].shape, arrays[name].dtype) != (t.shape, t.dtype):
                raise ValueError(f"checkpoint {path} is of another model: {name} is not {t.spec} there")
        with no_grad():
            for name, t in state.items():
                if not is_here(t):
                    continue
                value = arrays[name]
                if isinstance(t, GlobalTensor):
                    value = distribute(value, t.placement, t.sbp, comm=t.comm)
                else:
                    value = flow.from_numpy(value)
                t.copy_(value)
        if self.comm is not None and self.mesh.pp > 1:
            refresh_tied(self.model, self.mesh)
        flow.default_generator.set_state(meta["generator"])
        self.step = self.optimizer.num_steps = step


def piece_of(t):
    """What this rank writes of a tensor: its slice, if it is the first of the ranks that hold that slice, else None."""
    if not is_here(t):
        return None
    if not isinstance(t, GlobalTensor):
        return checkpoint.Piece(t.numpy(), (0,) * t.ndim, t.shape)
    at = dict(zip(t.placement.axes, t.placement.coordinates(t.comm.rank), strict=True))
    if any(at[axis] for axis in t.layout.broadcast_axes) or not t.shard.numel():
        return None
    return checkpoint.Piece(t.shard.numpy(), tuple(s.start for s in t.layout.local_slices(t.comm.rank)), t.shape)


def decay_groups(model, weight_decay):
    """Parameter groups: matrices decay; biases and norms, which belong to no matrix product, do not."""
    params = dict(model.named_parameters())
    plain = [p for name, p in params.items() if name.endswith("bias") or p.ndim < 2]
    matrices = [p for name, p in params.items() if not (name.endswith("bias") or p.ndim < 2)]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


def check_same(path, what, held, own):
    """ValueError that names the first entry in which a checkpoint differs from this run."""
    for key in own:
        if not isinstance(held, dict) or held.get(key) != own[key]:
            was = held.get(key) if isinstance(held, dict) else None
            raise ValueError(
                f"checkpoint {path} is of another {what}: its {key} is {was}, this run's {own[key]}; start it alike"
            )


def load_model(path):
    """(model, chars) of a checkpoint folder, or of the newest one in a run's folder."""
    path = Path(path)
    if not (path / "checkpoint.json").exists():
        newest = checkpoint.latest(path / "checkpoints") or checkpoint.latest(path)
        if newest is None:
            raise ValueError(f"{path} holds no checkpoint: give the --out of a training run, or a checkpoint's folder")
        path = newest
    tensors, meta, _ = checkpoint.load(path)
    try:
        model, chars = GPT(GPTConfig(**meta["model"])), meta["chars"]
    except (KeyError, TypeError):
        raise ValueError(f"checkpoint {path} is not of a GPT on text") from None
    model.load_state_dict({name.removeprefix("model."): a for name, a in tensors.items() if name.startswith("model.")})
    return model.eval(), chars
