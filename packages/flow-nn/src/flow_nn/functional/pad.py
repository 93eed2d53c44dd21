"""Padding: flow_core's, under PyTorch's name."""

from flow_core.functions.padding import pad

__all__ = ["pad"]
