"""Layouts of global tensors over named meshes of ranks, and redistribution between them at the lower bound in bytes."""

from flow_sbp.bound import lower_bound as lower_bound
from flow_sbp.boxing import plan as plan
from flow_sbp.comm import Comm as Comm
from flow_sbp.comm import Counting as Counting
from flow_sbp.execute import execute as execute
from flow_sbp.execute import simulate as simulate
from flow_sbp.layout import Layout as Layout
from flow_sbp.placement import Placement as Placement
from flow_sbp.plan import Plan as Plan
from flow_sbp.plan import Step as Step
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
from flow_sbp.sim import World as World
from flow_sbp.sim import spmd as spmd
