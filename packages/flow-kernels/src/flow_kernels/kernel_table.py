"""The kernels as plain C functions, by name, for a caller that runs them without Python."""

from dataclasses import dataclass

from flow_kernels import _cpu


@dataclass(frozen=True)
class KernelEntry:
    """A kernel as a plain C function: where it is, and what it takes."""

    address: int
    """Of an `int64_t f(void *const *buffers, const int64_t *dims, const double *attrs)`. It returns 0, or 1 + the row
    of a target of cross entropy that is out of range; it checks nothing else, and needs no lock of Python's."""

    signature: str
    """"buffers; dims; attrs" in the order of the arrays. A buffer is `name dtype[dims]`: `?` after it, it may be null;
    `out` before it, it is written; `inout`, read and written; `scratch`, its content means nothing."""


def table() -> dict[str, KernelEntry]:
    """Every kernel. The addresses hold for the life of the process."""
    return {name: KernelEntry(address, signature) for name, address, signature in _cpu.table()}
