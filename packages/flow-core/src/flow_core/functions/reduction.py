"""Functions that reduce dims, sort, or accumulate along one, in terms of ops."""

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = []
METHODS = {}
