"""Modules, optimizers, data, checkpoints and models."""

from flow_nn import functional as functional
from flow_nn import init as init
from flow_nn import optim as optim
from flow_nn.generate import generate as generate
from flow_nn.layers.activation import GELU as GELU
from flow_nn.layers.activation import Dropout as Dropout
from flow_nn.layers.container import ModuleList as ModuleList
from flow_nn.layers.container import Sequential as Sequential
from flow_nn.layers.embedding import Embedding as Embedding
from flow_nn.layers.linear import Linear as Linear
from flow_nn.layers.norm import LayerNorm as LayerNorm
from flow_nn.models.gpt import GPT as GPT
from flow_nn.models.gpt import GPTConfig as GPTConfig
from flow_nn.module import Module as Module
from flow_nn.module import Parameter as Parameter
