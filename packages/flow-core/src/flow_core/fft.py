"""Discrete Fourier transforms with PyTorch's names and arguments."""

from flow_core.functions import transforms as _transforms
from flow_core.functions.door import guard as _guard

globals().update({name: getattr(_transforms, name) for name in _transforms.NAMES})

globals().update(_guard(globals()))
