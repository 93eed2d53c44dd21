"""Functions that take and place elements by index: the door to subscripts, gather and scatter, masks, counting, searching."""

from flow_core.functions import counting, indexed, masks, placing, searching, segments, subscript

HERE = {
    name: f
    for module in (placing, indexed, masks, counting, searching, segments)
    for name, f in module.FUNCTIONS.items()
}
globals().update(HERE)

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = [*HERE]
METHODS = {
    **{name: f for module in (placing, indexed, masks, counting) for name, f in module.METHODS.items()},
    "__getitem__": subscript.getitem,
    "__setitem__": subscript.setitem,
}
