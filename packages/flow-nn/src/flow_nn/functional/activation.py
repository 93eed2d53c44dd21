"""Activations: functions of each element, or of a row of them."""

import flow_core as flow

softmax = flow.softmax
log_softmax = flow.log_softmax
gelu = flow.gelu

__all__ = ["gelu", "log_softmax", "softmax"]
