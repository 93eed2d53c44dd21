"""The threads of the kernels. One pool for the process, started with the first large piece of work."""

from flow_kernels import _cpu


def get_num_threads() -> int:
    """The number of threads a kernel may use: FLOW_NUM_THREADS, or the cores this process may run on, unless set."""
    return _cpu.get_num_threads()


def set_num_threads(n: int) -> None:
    """Lets kernels use n threads, the calling one among them. Results keep their bits, whatever n."""
    _cpu.set_num_threads(n)
