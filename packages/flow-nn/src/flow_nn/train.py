"""Training a GPT on text: the loop, its checkpoints and figures."""

import math
import shutil
import time

from tqdm import tqdm

from flow_nn import checkpoint, metrics
from flow_nn.generate import generate
from flow_nn.parallel import Mesh
from flow_nn.run import Run, load_model
from flow_nn.text import decode, encode, first_prompt

SAMPLE_LENGTH = 500


class Diverged(RuntimeError):
    """A loss is no finite number any more, and neither are the weights."""


def train(corpus, config, settings, out, *, resume=False, mesh=Mesh(), comm=None):  # noqa: B008 - a frozen value
    """Trains, writing to the folder `out`; returns the last validation loss. With `resume`, goes on from its newest checkpoint.

    Over a mesh of several ranks, every rank calls this with its communicator; rank 0 writes.
    """
    run = Run(corpus, config, settings, out, mesh, comm)
    newest = checkpoint.latest(run.out / "checkpoints") if resume else None
    if newest is not None:
        run.restore(newest)
    if comm is not None:
        comm.barrier()  # all have read before the first writes
    figures = begin(run, newest, resume) if run.leads else None
    try:
        val_loss = loop(run, figures)
    except ValueError as error:  # not what was asked for is wrong: all that can be checked has been
        raise RuntimeError(f"step {run.step + 1} failed: {error}") from error
    finally:
        if run.leads:
            figures.close()
    run.take_step.close()
    if run.leads:
        finish(run, val_loss)
    return val_loss


def begin(run, newest, resume):
    """Makes the folder, says what is about to be trained, and opens the metrics."""
    begin_folder(run.out, resume)
    corpus = run.corpus
    sizes = f"{len(corpus.train):,} characters train, {len(corpus.val):,} validate"
    print(f"GPT with {run.num_parameters:,} parameters on {corpus.name} ({sizes})")
    if resume:
        print(f"resuming at step {run.step}" if newest else f"{run.out} holds no checkpoint: starting at step 0")
    return metrics.Metrics(run.out / "metrics.jsonl", run.step)


def loop(run, figures):
    """The steps that are left, with progress, figures and checkpoints; returns the last validation loss."""
    settings, val_loss = run.settings, None
    tokens = settings.batch_size * run.config.block_size
    bar = tqdm(total=settings.steps, initial=run.step, unit="step", dynamic_ncols=True, disable=not run.leads)
    with bar:
        while run.step < settings.steps:
            start = time.perf_counter()
            loss = run.train_step()
            speed = tokens / (time.perf_counter() - start)
            if not math.isfinite(loss):  # every rank has the same one
                raise Diverged(stand(run, loss))
            last = run.step == settings.steps
            figure = {"step": run.step, "loss": loss, "tokens_per_s": round(speed, 1)}
            if last or run.step % settings.validate_every == 0:
                figure["val_loss"] = val_loss = run.validate()
            if run.leads:
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


def stand(run, loss):
    """What to say of a run that diverged: where, and what is left of it."""
    newest = checkpoint.latest(run.out / "checkpoints")
    left = f"the newest checkpoint is {newest}" if newest else "there is no checkpoint"
    return f"the loss of step {run.step} is {loss}: the run has diverged and ends here; {left}"


def finish(run, val_loss):
    """Draws the curve, writes a sample, and says where everything is."""
    metrics.draw_curve(run.out / "metrics.jsonl", run.out / "loss.png")
    model, chars = load_model(checkpoint.latest(run.out / "checkpoints"))  # whole on this rank, whatever the mesh
    seed = run.settings.seed
    ids = generate(model, encode(first_prompt(chars), chars), SAMPLE_LENGTH, temperature=0.8, seed=seed)
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
    if resume:
        checkpoint.clear(out / "checkpoints")
    names = ["metrics.jsonl", "checkpoints", "loss.png", "sample.txt"]
    left = [out / name for name in names if (out / name).exists()]
    if left and not resume:
        aside = next(out / f"earlier_{k}" for k in range(1, 10**6) if not (out / f"earlier_{k}").exists())
        aside.mkdir()
        for path in left:
            shutil.move(path, aside / path.name)
        print(f"moved the run that was in {out} to {aside}")
