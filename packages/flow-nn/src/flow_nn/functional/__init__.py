"""Functions of tensors that modules are made of, with PyTorch's names and arguments. Each module lists in `__all__` what it adds."""

from flow_core.functions.door import guard as _guard
from flow_nn.functional.activation import *  # noqa: F403
from flow_nn.functional.adaptive import *  # noqa: F403
from flow_nn.functional.attention import *  # noqa: F403
from flow_nn.functional.binary_loss import *  # noqa: F403
from flow_nn.functional.classification_loss import *  # noqa: F403
from flow_nn.functional.conv import *  # noqa: F403
from flow_nn.functional.distance import *  # noqa: F403
from flow_nn.functional.dropout import *  # noqa: F403
from flow_nn.functional.embedding import *  # noqa: F403
from flow_nn.functional.fold import *  # noqa: F403
from flow_nn.functional.linear import *  # noqa: F403
from flow_nn.functional.margin_loss import *  # noqa: F403
from flow_nn.functional.multi_head import *  # noqa: F403
from flow_nn.functional.normalization import *  # noqa: F403
from flow_nn.functional.pad import *  # noqa: F403
from flow_nn.functional.pool import *  # noqa: F403
from flow_nn.functional.regression_loss import *  # noqa: F403
from flow_nn.functional.resample import *  # noqa: F403
from flow_nn.functional.sequence_loss import *  # noqa: F403
from flow_nn.functional.softmax import *  # noqa: F403

globals().update(_guard(globals()))
