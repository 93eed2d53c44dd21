"""GPT: a decoder-only transformer (Radford et al. 2019), with the parameter names of GPT-2.

The attention weights keep heads and head_dim as dims of their own, c_attn.weight (3, heads, head_dim, channels) and c_proj.weight
(channels, heads, head_dim): reshaped to two dims they are the well-known (3 channels, channels) and (channels, channels).
"""

import math
from dataclasses import asdict, dataclass

import flow_core as flow
from flow_nn import functional as F
from flow_nn import init
from flow_nn.layers.activation import GELU, Dropout
from flow_nn.layers.container import ModuleList
from flow_nn.layers.embedding import Embedding
from flow_nn.layers.linear import Linear
from flow_nn.layers.norm import LayerNorm
from flow_nn.module import Module


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a GPT. Defaults are the well-known small setting for characters on a CPU."""

    vocab_size: int
    block_size: int = 64  # the longest context, in tokens
    num_layers: int = 4
    num_heads: int = 4
    num_channels: int = 128
    dropout: float = 0.0

    def __post_init__(self):
        for name, value in asdict(self).items():
            if name != "dropout" and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"GPTConfig: {name} is {value!r}, expected a positive int")
        if not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout <= 1:
            raise ValueError(f"GPTConfig: dropout is {self.dropout!r}, expected a probability from 0 to 1")
        if self.num_channels % self.num_heads:
            raise ValueError(f"GPTConfig: {self.num_channels} channels do not divide into {self.num_heads} heads")


class SelfAttention(Module):
    """Causal self-attention of (batch, tokens, channels)."""

    def __init__(self, config):
        super().__init__()
        heads = (config.num_heads, config.num_channels // config.num_heads)
        self.c_attn = Linear(config.num_channels, (3, *heads))
        self.c_proj = Linear(heads, config.num_channels)
        self.dropout = Dropout(config.dropout)

    def forward(self, x):
        qkv = self.c_attn(x)  # (batch, tokens, 3, heads, head_dim)
        q, k, v = flow.unbind(flow.permute(qkv, dims=(2, 0, 3, 1, 4)))  # each (batch, heads, tokens, head_dim)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dropout(self.c_proj(flow.transpose(y, dim0=1, dim1=2)))  # (batch, tokens, heads, head_dim) in


class MLP(Module):
    """Four times as wide in the middle."""

    def __init__(self, config):
        super().__init__()
        self.c_fc = Linear(config.num_channels, 4 * config.num_channels)
        self.gelu = GELU()
        self.c_proj = Linear(4 * config.num_channels, config.num_channels)
        self.dropout = Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(Module):
    """Attention and MLP, each on the normalised input and added to it."""

    def __init__(self, config):
        super().__init__()
        self.ln_1 = LayerNorm(config.num_channels)
        self.attn = SelfAttention(config)
        self.ln_2 = LayerNorm(config.num_channels)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Transformer(Module):
    """The tables, the blocks and the last norm, under GPT-2's names."""

    def __init__(self, config):
        super().__init__()
        self.wte = Embedding(config.vocab_size, config.num_channels)
        self.wpe = Embedding(config.block_size, config.num_channels)
        self.drop = Dropout(config.dropout)
        self.h = ModuleList([Block(config) for _ in range(config.num_layers)])
        self.ln_f = LayerNorm(config.num_channels)


class GPT(Module):
    """ids (batch, tokens) int64 to logits (batch, tokens, vocab_size). The head's weight is the token table's."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.tied = None  # where the head lives on other ranks than the token table: the table's copy there
        self.reset_parameters()

    def reset_parameters(self):
        """Draws weights from normal(0, 0.02), those that end a residual branch from normal(0, 0.02 / sqrt(2 layers)); biases are 0."""
        for name, p in self.named_parameters():
            if p.ndim == 1 or name.endswith("bias"):
                (init.ones_ if name.split(".")[-2].startswith("ln_") and name.endswith("weight") else init.zeros_)(p)
            else:
                residual = name.endswith("c_proj.weight")
                init.normal_(p, std=0.02 / math.sqrt(2 * self.config.num_layers) if residual else 0.02)

    def embed(self, ids):
        """ids (batch, tokens) to the blocks' input (batch, tokens, channels)."""
        if ids.shape[-1] > self.config.block_size:
            raise ValueError(f"GPT: {ids.shape[-1]} tokens are more than the context of {self.config.block_size}")
        places = self.transformer.wpe.weight[: ids.shape[-1]]  # (tokens, channels)
        return self.transformer.drop(self.transformer.wte(ids) + places)

    def head(self, x):
        """The last block's output (batch, tokens, channels) to logits (batch, tokens, vocab_size)."""
        weight = self.transformer.wte.weight if self.tied is None else self.tied
        return F.linear(self.transformer.ln_f(x), weight)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.transformer.h:
            x = block(x)
        return self.head(x)
