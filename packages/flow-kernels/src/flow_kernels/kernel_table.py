"""The kernels as plain C functions, by name, for a caller that runs them without Python."""

from dataclasses import dataclass

from flow_kernels import _cpu


@dataclass(frozen=True)
class KernelEntry:
    address: int
    """Of an `int64_t f(void *const *buffers, const int64_t *dims, const double *attrs)`. It returns 0, or where a target
    of cross entropy is out of range, 1 + its row; it checks nothing else, and takes no lock of Python's."""

    signature: str
    """"buffers; dims; attrs" in the order of the arrays. A buffer is `name dtype[dims]`: `?` after it, it may be null;
    `out` before it, it is written; `inout`, read and written; `scratch`, its content means nothing."""


def table() -> dict[str, KernelEntry]:
    """Every kernel. The addresses hold for the life of the process."""
    return {name: KernelEntry(address, signature) for name, address, signature in _cpu.table()}
