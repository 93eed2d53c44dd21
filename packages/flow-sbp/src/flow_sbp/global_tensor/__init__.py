"""Global tensors: flow's ops on tensors that are laid out over ranks. Needs the extra `flow` (flow-autograd)."""

from flow_sbp.global_tensor.box import box as box
from flow_sbp.global_tensor.creation import absent as absent
from flow_sbp.global_tensor.creation import distribute as distribute
from flow_sbp.global_tensor.creation import from_shards as from_shards
from flow_sbp.global_tensor.creation import full as full
from flow_sbp.global_tensor.creation import global_tensor as global_tensor
from flow_sbp.global_tensor.creation import ones as ones
from flow_sbp.global_tensor.creation import rand as rand
from flow_sbp.global_tensor.creation import randn as randn
from flow_sbp.global_tensor.creation import zeros as zeros
from flow_sbp.global_tensor.many import box_many as box_many
from flow_sbp.global_tensor.tensor import GlobalTensor as GlobalTensor
from flow_sbp.global_tensor.watch import explicit as explicit
from flow_sbp.global_tensor.watch import trace as trace
from flow_sbp.global_tensor.world import set_comm as set_comm
