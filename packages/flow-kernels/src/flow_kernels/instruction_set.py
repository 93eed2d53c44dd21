"""The instruction sets the kernels are compiled for. At import the best is chosen, or that in FLOW_KERNELS_ISA."""

from flow_kernels import _cpu


def isa() -> str:
    """The one in use: "baseline", "avx2" or "avx512". Results have the same bits in each."""
    return _cpu.level_name()


def supported_isas() -> tuple[str, ...]:
    """Those that this CPU has, lowest first."""
    return _cpu.supported_levels()
