"""A run's figures: JSON lines as they come, and the curve drawn from them."""

import json
from pathlib import Path


class Metrics:
    """Appends one JSON object a line to a file; what it holds after `step` is cut off when a run resumes there."""

    def __init__(self, path, step=0):
        self.path = Path(path)
        kept = [line for line in read(path) if line["step"] <= step] if self.path.exists() and step else []
        partial = self.path.with_suffix(".partial")
        partial.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        partial.rename(self.path)
        self.file = open(self.path, "a", buffering=1, encoding="utf-8")

    def add(self, **figures):
        """Writes one line."""
        self.file.write(json.dumps(figures) + "\n")

    def close(self):
        """Closes the file."""
        self.file.close()


def read(path):
    """The whole lines of a metrics file; a last one that was cut off by a kill is left out."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines if line.endswith("}")]


def draw_curve(metrics_path, image_path):
    """Draws training and validation loss over steps as a PNG."""
    from matplotlib.figure import Figure

    lines = read(metrics_path)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(
        [m["step"] for m in lines if "loss" in m],
        [m["loss"] for m in lines if "loss" in m],
        linewidth=0.7,
        label="training batch",
    )
    val = [m for m in lines if "val_loss" in m]
    axes.plot([m["step"] for m in val], [m["val_loss"] for m in val], marker="o", label="validation")
    axes.set(xlabel="step", ylabel="loss (nats a character)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(image_path, dpi=120)
