"""Functions that take and place elements by index, in terms of ops."""

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = []
METHODS = {}
