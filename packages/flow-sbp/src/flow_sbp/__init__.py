"""Layouts of global tensors over named meshes of ranks, and redistribution between them at the lower bound in bytes."""

from flow_sbp.layout import Layout as Layout
from flow_sbp.placement import Placement as Placement
from flow_sbp.sbp import Broadcast as Broadcast
from flow_sbp.sbp import Partial as Partial
from flow_sbp.sbp import Sbp as Sbp
from flow_sbp.sbp import Split as Split
from flow_sbp.sbp import broadcast as broadcast
from flow_sbp.sbp import dual as dual
from flow_sbp.sbp import parse as parse
from flow_sbp.sbp import partial_sum as partial_sum
from flow_sbp.sbp import split as split
from flow_sbp.shards import assemble as assemble
from flow_sbp.shards import shard as shard
