"""Checkpoints: a folder a step, of safetensors files and a JSON file that names what they hold.

A folder is written under another name, flushed to the disk and renamed when it is whole, so a folder that has its name is whole,
whenever the writer was killed.
"""

import json
import os
import re
import shutil
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy

FORMAT = 1
NAME = re.compile(r"step_(\d{8})")


class Piece(NamedTuple):
    """A rank's slice of a tensor: the array, where it begins in the whole, and the whole's shape."""

    array: np.ndarray
    start: tuple
    shape: tuple


def save(root, step, pieces, meta, *, keep=3, comm=None):
    """Writes `pieces` (Pieces by name) and `meta` (a dict that JSON can hold) as root/step_NNNNNNNN; returns that path.

    Over a communicator every rank calls this with the pieces that are its to write; together they are each tensor once. Of the
    older checkpoints, the newest `keep - 1` stay.
    """
    root, rank = Path(root), 0 if comm is None else comm.rank
    path, partial = root / f"step_{step:08d}", root / f"partial_{step:08d}"
    if rank == 0:
        root.mkdir(parents=True, exist_ok=True)
        clear(root, keep)
        partial.mkdir()
    wait(comm)
    if pieces:
        name = f"rank_{rank:04d}.safetensors"
        arrays = {n: np.asarray(p.array, order="C") for n, p in pieces.items()}  # safetensors takes memory as it lies
        data = safetensors.numpy.save(arrays)
        write_durably(partial / name, data)
        table = {n: [str(p.array.dtype), list(p.shape), name, list(p.start)] for n, p in pieces.items()}
        write_durably(partial / f"rank_{rank:04d}.json", json.dumps([name, zlib.crc32(data), table]).encode())
    wait(comm)
    if rank == 0:
        commit(partial, path, {"format": FORMAT, "step": step, "meta": meta})
        clear(root, keep)
    wait(comm)
    return path


def clear(root, keep=3):
    """Ends what a writer that was killed had begun to delete or to write: all but the newest `keep` checkpoints go."""
    for left in Path(root).glob("partial_*"):
        shutil.rmtree(left)
    for old in steps(root)[:-keep]:
        remove(old)


def wait(comm):
    """Waits for all ranks, if there are several."""
    if comm is not None:
        comm.barrier()


def commit(partial, path, index):
    """Joins the ranks' tables into checkpoint.json and gives the folder its name: from then on it is a checkpoint."""
    tensors, crc32 = {}, {}
    for rank in sorted(partial.glob("rank_*.json")):
        written, checksum, table = json.loads(rank.read_bytes())
        crc32[written] = checksum
        for name, (dtype, shape, file, start) in table.items():
            entry = tensors.setdefault(name, {"dtype": dtype, "shape": shape, "pieces": []})
            entry["pieces"].append([file, start])
        rank.unlink()
    index = {**index, "tensors": tensors, "crc32": crc32}
    write_durably(partial / "checkpoint.json", json.dumps(index, indent=1, sort_keys=True).encode())
    flush_folder(partial)
    if path.exists():
        remove(path)
    partial.rename(path)
    flush_folder(path.parent)


def remove(path):
    """Deletes a checkpoint folder; it loses its name first, so that no name stands for half of one."""
    aside = path.with_name(f"partial_old_{path.name}")
    path.rename(aside)
    shutil.rmtree(aside)


def load(path):
    """(arrays by name, meta, step) of a checkpoint folder, whole tensors whatever pieces they were written in.

    ValueError if it is not one, or not whole.
    """
    path = Path(path)
    try:
        index = json.loads((path / "checkpoint.json").read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{path} is not a checkpoint: it has no checkpoint.json") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"checkpoint {path} cannot be read ({error}); use an older one") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        given = index.get("format") if isinstance(index, dict) else None
        raise ValueError(f"checkpoint {path} has format {given!r}, expected {FORMAT}")
    try:
        files, arrays, crc32 = {}, {}, index.get("crc32", {})
        for name, entry in index["tensors"].items():
            for file, _ in entry["pieces"]:
                if file not in files:
                    at = path / Path(file).name
                    files[file] = safetensors.numpy.load_file(at)
                    if file in crc32 and zlib.crc32(at.read_bytes()) != crc32[file]:
                        raise ValueError(f"{file} is not the file that was written with it")
            arrays[name] = joined(entry, [(files[file][name], start) for file, start in entry["pieces"]])
        meta, step = index["meta"], index["step"]
    except (KeyError, TypeError, AttributeError, ValueError, OSError, safetensors.SafetensorError) as error:
        raise ValueError(
            f"checkpoint {path} is not what its checkpoint.json lists ({error}); use an older one"
        ) from None
    if not isinstance(meta, dict) or not isinstance(step, int):
        raise ValueError(f"checkpoint {path} is not what its checkpoint.json lists; use an older one")
    return arrays, meta, step


def joined(entry, pieces):
    """A tensor from its pieces; ValueError unless they are of its dtype and fill it exactly."""
    whole = np.empty(entry["shape"], entry["dtype"])
    if sum(piece.size for piece, _ in pieces) != whole.size:
        raise ValueError("pieces that do not add up")
    filled = np.zeros(whole.shape, bool)
    for piece, start in pieces:
        at = tuple(slice(a, a + n) for a, n in zip(start, piece.shape, strict=True))
        if piece.dtype != whole.dtype or whole[at].shape != piece.shape or filled[at].any():
            raise ValueError("a piece that does not fit")
        whole[at], filled[at] = piece, True
    return whole


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
