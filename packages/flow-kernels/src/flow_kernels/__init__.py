"""Fast CPU kernels over plain numpy buffers; `flow_kernels.reference` says in numpy what each one computes."""

from flow_kernels.isa import isa as isa
from flow_kernels.isa import supported_isas as supported_isas
from flow_kernels.norm import layer_norm as layer_norm
from flow_kernels.norm import layer_norm_backward as layer_norm_backward
from flow_kernels.threads import get_num_threads as get_num_threads
from flow_kernels.threads import set_num_threads as set_num_threads
