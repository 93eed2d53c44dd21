"""Functions of what lies in space, images among it: the door to padding, sampling and the shuffles of channels and pixels."""

from flow_core.functions import padding, sampling, shuffles

# The names that flow_core takes over; tensors have none of them as methods.
__all__ = [*padding.__all__, *sampling.__all__, *shuffles.__all__]
globals().update({name: getattr(module, name) for module in (padding, sampling, shuffles) for name in module.__all__})
