"""One rule an op, in files named as in flow_core.ops. Importing this package fills the table."""

from flow_autograd.rules import along as along
from flow_autograd.rules import binary as binary
from flow_autograd.rules import complex as complex
from flow_autograd.rules import conv as conv
from flow_autograd.rules import decomposition as decomposition
from flow_autograd.rules import elementwise as elementwise
from flow_autograd.rules import fourier as fourier
from flow_autograd.rules import index as index
from flow_autograd.rules import linalg as linalg
from flow_autograd.rules import nn as nn
from flow_autograd.rules import pool as pool
from flow_autograd.rules import random as random
from flow_autograd.rules import reduce as reduce
from flow_autograd.rules import running as running
from flow_autograd.rules import shape as shape
from flow_autograd.rules import solve as solve
from flow_autograd.rules import special as special
from flow_autograd.rules import strided as strided
from flow_autograd.rules import unary as unary
from flow_autograd.rules import window as window
