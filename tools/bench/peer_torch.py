"""The peer's worker: PyTorch at the statements, and at the main job's model and training step, written plainly.

Runs in .bench, where there is torch and numpy and nothing of ours. Parameters have GPT-2's names, which are also our model's.
"""

import platform
import time
from pathlib import Path

import numpy as np
import torch
from blocks import Statements
from torch import nn
from torch.nn import functional as F
from worker import peak_memory, serve


class SelfAttention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(channels, 3 * channels)
        self.c_proj = nn.Linear(channels, channels)

    def forward(self, x):
        batch, tokens, channels = x.shape
        heads = (batch, tokens, self.heads, channels // self.heads)
        q, k, v = [part.view(heads).transpose(1, 2) for part in self.c_attn(x).split(channels, dim=2)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (batch, heads, tokens, head_dim)
        return self.c_proj(y.transpose(1, 2).reshape(batch, tokens, channels))


class MLP(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.c_fc = nn.Linear(channels, 4 * channels)
        self.c_proj = nn.Linear(4 * channels, channels)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(channels)
        self.attn = SelfAttention(channels, heads)
        self.ln_2 = nn.LayerNorm(channels)
        self.mlp = MLP(channels)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """ids (batch, tokens) to logits (batch, tokens, vocab_size); the head's weight is the token table's."""

    def __init__(self, *, vocab_size, block_size, num_layers, num_heads, num_channels):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab_size, num_channels),
                "wpe": nn.Embedding(block_size, num_channels),
                "h": nn.ModuleList([Block(num_channels, num_heads) for _ in range(num_layers)]),
                "ln_f": nn.LayerNorm(num_channels),
            }
        )

    def forward(self, ids):
        t = self.transformer
        x = t["wte"](ids) + t["wpe"](torch.arange(ids.shape[1]))
        for block in t["h"]:
            x = block(x)
        return F.linear(t["ln_f"](x), t["wte"].weight)


class Job:
    """The main job at our weights, batches and learning rates, in the folder that our worker wrote."""

    def __init__(self, folder, sizes, betas, weight_decay, max_norm):
        self.model = GPT(**sizes)
        self.load(np.load(Path(folder) / "weights.npz"))
        data = np.load(Path(folder) / "batches.npz")
        self.rates = data["rates"].tolist()
        self.inputs, self.targets = torch.from_numpy(data["inputs"]), torch.from_numpy(data["targets"])
        params = list(self.model.parameters())
        groups = [
            {"params": [p for p in params if p.ndim >= 2], "weight_decay": weight_decay},
            {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, betas=tuple(betas), fused=True)  # its fastest on a CPU
        self.max_norm = max_norm
        self.step = 0

    def load(self, weights):
        """Takes our weights; those of attention have more dims than the peer's, in the same order."""
        params = dict(self.model.named_parameters())
        if params.keys() != set(weights.files):
            raise ValueError(f"parameters differ: {sorted(params.keys() ^ set(weights.files))}")
        with torch.no_grad():
            for name, p in params.items():
                p.copy_(torch.from_numpy(weights[name]).reshape(p.shape))

    def train_step(self):
        """Forward, backward, clip, update; the loss of the step's batch."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rates[self.step]
        self.optimizer.zero_grad()
        logits = self.model(self.inputs[self.step])
        loss = F.cross_entropy(logits.flatten(0, 1), self.targets[self.step].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.step += 1
        return loss.item()


state = {}


def hello(num_threads):
    torch.set_num_threads(num_threads)
    return {"torch": torch.__version__, "numpy": np.__version__, "Python": platform.python_version()}


def statements():
    if "statements" not in state:
        state["statements"] = Statements(lambda rows, grad: torch.tensor(rows, requires_grad=grad))
    return state["statements"]


def value(statement, result):
    return statements().value(statement, result)


def fastest(statement, num_blocks, block_seconds):
    return statements().fastest(statement, num_blocks, block_seconds)


def begin(**arguments):
    state["job"] = Job(**arguments)


def train(num_steps):
    """The losses of the next steps, and the seconds they take together."""
    start = time.perf_counter()
    losses = [state["job"].train_step() for _ in range(num_steps)]
    return {"losses": losses, "seconds": time.perf_counter() - start}


def matmul(size, num_products):
    """Seconds of the fastest float32 product of square matrices."""
    a, b, out = (torch.rand(size, size) for _ in range(3))
    seconds = []
    for _ in range(num_products):
        start = time.perf_counter()
        torch.matmul(a, b, out=out)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    serve({f.__name__: f for f in (hello, value, fastest, begin, train, matmul, peak_memory)})
