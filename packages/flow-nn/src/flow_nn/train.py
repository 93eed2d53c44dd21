"""Training a GPT on text: the loop, its checkpoints and figures."""

import json
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

import flow_core as flow
from flow_autograd import no_grad
from flow_nn import checkpoint, metrics
from flow_nn.functional import cross_entropy
from flow_nn.generate import generate
from flow_nn.models.gpt import GPT, GPTConfig
from flow_nn.optim import AdamW, clip_grad_norm_, warmup_cosine
from flow_nn.text import decode, encode, first_prompt, training_batch, validation_batches

VALIDATION_BATCH = 48
SAMPLE_LENGTH = 500


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

    def learning_rate(self, step):
        """The rate of step 0, 1, ...; the cosine spans 2,000 steps at least, so that a short run is a long one's beginning."""
        return warmup_cosine(
            step, peak=self.peak_lr, floor=self.floor_lr, num_warmup=self.num_warmup, num_steps=max(self.steps, 2000)
        )


class Run:
    """A training run in a folder: model, optimizer, and the step they stand at."""

    def __init__(self, corpus, config, settings, out):
        self.corpus, self.config, self.settings, self.out = corpus, config, settings, Path(out)
        flow.manual_seed(settings.seed)
        self.model = GPT(config)
        self.optimizer = AdamW(
            decay_groups(self.model, settings.weight_decay), lr=settings.peak_lr, betas=settings.betas
        )
        self.step = 0

    def train_step(self):
        """One step: forward, backward, clip, update. Returns the loss of its batch."""
        s = self.settings
        inputs, targets = training_batch(
            self.corpus.train, self.step, seed=s.seed, batch_size=s.batch_size, block_size=self.config.block_size
        )
        for group in self.optimizer.param_groups:
            group["lr"] = s.learning_rate(self.step)
        self.optimizer.zero_grad()
        loss = cross_entropy(self.model(inputs), targets)
        loss.backward()
        clip_grad_norm_(self.model.parameters(), s.max_norm)
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def validate(self):
        """The mean loss over all validation windows."""
        self.model.eval()
        total, count = 0.0, 0
        with no_grad():
            for inputs, targets in validation_batches(
                self.corpus.val, batch_size=VALIDATION_BATCH, block_size=self.config.block_size
            ):
                total += cross_entropy(self.model(inputs), targets, reduction="sum").item()
                count += targets.numel()
        self.model.train()
        return total / count

    def save(self):
        """Writes a checkpoint of this step; returns its path."""
        return checkpoint.save(self.out / "checkpoints", self.step, self.tensors(), self.meta())

    def tensors(self):
        """The whole state by name, as arrays."""
        arrays = {f"model.{name}": t.numpy() for name, t in self.model.state_dict().items()}
        for name, p in self.model.named_parameters():
            arrays |= {f"optimizer.{name}.{key}": t.numpy() for key, t in self.optimizer.state_of(p).items()}
        return arrays

    def meta(self):
        """What a checkpoint says about itself."""
        return {
            "model": asdict(self.config),
            "settings": json.loads(json.dumps(asdict(self.settings))),
            "chars": self.corpus.chars,
            "text": self.corpus.digest,
            "generator": flow.default_generator.get_state(),
        }

    def restore(self, path):
        """Takes the state of a checkpoint. ValueError, before anything changes, if it is of another model, text or setting."""
        tensors, meta, step = checkpoint.load(path)
        if meta.get("text") != self.corpus.digest:
            raise ValueError(f"checkpoint {path} is of another text than {self.corpus.name}: give the --text it is of")
        check_same(path, "model", meta.get("model"), asdict(self.config))
        own = self.meta()["settings"]
        fixed = {k: v for k, v in own.items() if k not in ("steps", "checkpoint_every", "validate_every")}
        check_same(path, "setting", meta.get("settings"), fixed)
        if step > self.settings.steps:
            raise ValueError(f"checkpoint {path} is of step {step}, beyond --steps {self.settings.steps}")
        kinds = [{name: (a.shape, a.dtype) for name, a in held.items()} for held in (tensors, self.tensors())]
        if kinds[0] != kinds[1]:
            raise ValueError(f"checkpoint {path} is of another model: it does not hold the same tensors")
        self.model.load_state_dict({name: tensors[f"model.{name}"] for name in self.model.state_dict()})
        for name, p in self.model.named_parameters():
            for key, t in self.optimizer.state_of(p).items():
                np.copyto(t.data, tensors[f"optimizer.{name}.{key}"])
        flow.default_generator.set_state(meta["generator"])
        self.step = self.optimizer.num_steps = step


def train(corpus, config, settings, out, *, resume=False):
    """Trains, writing to the folder `out`; returns the last validation loss. With `resume`, goes on from its newest checkpoint."""
    run = Run(corpus, config, settings, out)
    newest = checkpoint.latest(run.out / "checkpoints") if resume else None
    if newest is not None:
        run.restore(newest)
    begin_folder(run.out, resume)
    figures = metrics.Metrics(run.out / "metrics.jsonl", run.step)
    num_parameters = sum(p.numel() for p in run.model.parameters())
    print(
        f"GPT with {num_parameters:,} parameters on {corpus.name} ({len(corpus.train):,} characters train, {len(corpus.val):,} validate)"
    )
    if resume:
        print(f"resuming at step {run.step}" if newest else f"{run.out} holds no checkpoint: starting at step 0")
    val_loss = loop(run, figures)
    figures.close()
    finish(run, val_loss)
    return val_loss


def loop(run, figures):
    """The steps that are left, with progress, figures and checkpoints; returns the last validation loss."""
    settings, val_loss = run.settings, None
    tokens = settings.batch_size * run.config.block_size
    with tqdm(total=settings.steps, initial=run.step, unit="step", dynamic_ncols=True) as bar:
        while run.step < settings.steps:
            start = time.perf_counter()
            loss = run.train_step()
            speed = tokens / (time.perf_counter() - start)
            last = run.step == settings.steps
            figure = {"step": run.step, "loss": loss, "tokens_per_s": round(speed, 1)}
            if last or run.step % settings.validate_every == 0:
                figure["val_loss"] = val_loss = run.validate()
            figures.add(**figure)
            bar.set_postfix(
                loss=f"{loss:.4f}",
                val=f"{val_loss:.4f}" if val_loss else "-",
                tokens_per_s=f"{speed:,.0f}",
                refresh=False,
            )
            bar.update()
            if last or run.step % settings.checkpoint_every == 0:
                run.save()
    return val_loss if val_loss is not None else run.validate()


def finish(run, val_loss):
    """Draws the curve, writes a sample, and says where everything is."""
    metrics.draw_curve(run.out / "metrics.jsonl", run.out / "loss.png")
    run.model.eval()
    chars, seed = run.corpus.chars, run.settings.seed
    ids = generate(run.model, encode(first_prompt(chars), chars), SAMPLE_LENGTH, temperature=0.8, seed=seed)
    text = decode(ids, chars)
    (run.out / "sample.txt").write_text(text, encoding="utf-8")
    print(f"validation loss {val_loss:.4f} at step {run.step}\n\nsample:\n{text}\n")
    for what, name in (
        ("metrics", "metrics.jsonl"),
        ("loss curve", "loss.png"),
        ("checkpoints", "checkpoints"),
        ("sample", "sample.txt"),
    ):
        print(f"{what + ':':12} {run.out / name}")


def begin_folder(out, resume):
    """Makes the folder. What an earlier run left there is moved aside, unless that run goes on."""
    out.mkdir(parents=True, exist_ok=True)
    names = ["metrics.jsonl", "checkpoints", "loss.png", "sample.txt"]
    left = [out / name for name in names if (out / name).exists()]
    if left and not resume:
        aside = next(out / f"earlier_{k}" for k in range(1, 10**6) if not (out / f"earlier_{k}").exists())
        aside.mkdir()
        for path in left:
            shutil.move(path, aside / path.name)
        print(f"moved the run that was in {out} to {aside}")


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
