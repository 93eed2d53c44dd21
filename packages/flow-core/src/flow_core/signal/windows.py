"""Window functions with PyTorch's names and arguments."""

from flow_core.functions.door import guard as _guard
from flow_core.functions.windows import ALL as _ALL

globals().update(_guard(_ALL))
