"""Checkpoints: a folder a step, of safetensors files and a JSON file that names what they hold.

A folder is written under another name, flushed to the disk and renamed when it is whole, so a folder that has its name is whole,
whenever the writer was killed.
"""

import json
import os
import re
import shutil
from pathlib import Path

import safetensors.numpy

FORMAT = 1
NAME = re.compile(r"step_(\d{8})")


def save(root, step, tensors, meta, keep=3):
    """Writes `tensors` (numpy arrays by name) and `meta` (a dict that JSON can hold) as root/step_NNNNNNNN; returns that path.

    Of the older ones, the newest `keep - 1` stay.
    """
    root = Path(root)
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob("partial_*"):  # by a writer that was killed
        shutil.rmtree(left)
    path = root / f"step_{step:08d}"
    partial = root / f"partial_{step:08d}"
    partial.mkdir()
    write_durably(partial / "tensors.safetensors", safetensors.numpy.save(tensors))
    index = {
        "format": FORMAT,
        "step": step,
        "meta": meta,
        "tensors": {n: [str(a.dtype), list(a.shape)] for n, a in tensors.items()},
    }
    write_durably(partial / "checkpoint.json", json.dumps(index, indent=1, sort_keys=True).encode())
    flush_folder(partial)
    if path.exists():
        remove(path)
    partial.rename(path)
    flush_folder(root)
    for old in steps(root)[:-keep]:
        remove(old)
    return path


def remove(path):
    """Deletes a checkpoint folder; it loses its name first, so that no name stands for half of one."""
    aside = path.with_name(f"partial_old_{path.name}")
    path.rename(aside)
    shutil.rmtree(aside)


def load(path):
    """(tensors, meta, step) of a checkpoint folder. ValueError if it is not one, or not whole."""
    path = Path(path)
    try:
        index = json.loads((path / "checkpoint.json").read_bytes())
        tensors = safetensors.numpy.load_file(path / "tensors.safetensors")
    except FileNotFoundError as error:
        raise ValueError(
            f"{path} is not a checkpoint: it has no {Path(error.filename or 'tensors.safetensors').name}"
        ) from None
    except (ValueError, OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"checkpoint {path} cannot be read ({error}); use an older one") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise ValueError(
            f"checkpoint {path} has format {index.get('format') if isinstance(index, dict) else None!r}, expected {FORMAT}"
        )
    held = {name: [str(a.dtype), list(a.shape)] for name, a in tensors.items()}
    if held != index.get("tensors") or [type(index.get(k)) for k in ("step", "meta")] != [int, dict]:
        raise ValueError(f"checkpoint {path} does not hold what its checkpoint.json lists; use an older one")
    return tensors, index["meta"], index["step"]


def steps(root):
    """The checkpoint folders under `root`, oldest first."""
    root = Path(root)
    return sorted(p for p in root.iterdir() if NAME.fullmatch(p.name)) if root.is_dir() else []


def latest(root):
    """The newest checkpoint folder under `root`, or None."""
    found = steps(root)
    return found[-1] if found else None


def write_durably(path, data):
    """Writes bytes and waits until the disk has them."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def flush_folder(path):
    """Waits until the disk has a folder's entries."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
