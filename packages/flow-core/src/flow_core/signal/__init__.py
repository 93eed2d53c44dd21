"""Signal processing with PyTorch's names and arguments."""

from flow_core.signal import windows as windows
