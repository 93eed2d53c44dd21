"""Fast CPU kernels over plain numpy buffers; `flow_kernels.reference` says in numpy what each one computes."""

from flow_kernels.activation import gelu as gelu
from flow_kernels.activation import gelu_backward as gelu_backward
from flow_kernels.instruction_set import isa as isa
from flow_kernels.instruction_set import supported_isas as supported_isas
from flow_kernels.kernel_table import KernelEntry as KernelEntry
from flow_kernels.kernel_table import table as table
from flow_kernels.loss import cross_entropy as cross_entropy
from flow_kernels.loss import cross_entropy_backward as cross_entropy_backward
from flow_kernels.norm import layer_norm as layer_norm
from flow_kernels.norm import layer_norm_backward as layer_norm_backward
from flow_kernels.optimizer import adamw as adamw
from flow_kernels.softmax import softmax as softmax
from flow_kernels.softmax import softmax_backward as softmax_backward
from flow_kernels.threads import get_num_threads as get_num_threads
from flow_kernels.threads import set_num_threads as set_num_threads
