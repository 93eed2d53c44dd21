"""Window functions with PyTorch's names and arguments."""

from flow_core.functions.windows import ALL as _ALL

globals().update(_ALL)
