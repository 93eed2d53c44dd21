"""AdamW: Adam with decoupled weight decay."""

import flow_core as flow
from flow_nn.optim.optimizer import Optimizer


class AdamW(Optimizer):
    """Loshchilov and Hutter, 1711.05101, algorithm 2, in the order of operations of PyTorch's."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def check(self, *, betas, **others):
        """ValueError for hyperparameters out of their range."""
        for name, value in others.items():
            if not value >= 0:
                raise ValueError(f"AdamW: {name} is {value}, expected 0 or more")
        if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"AdamW: betas are {betas}, expected two numbers from 0 to below 1")

    def init(self, p):
        """The running averages of the gradient and of its square, at 0."""
        return {"exp_avg": flow.zeros_like(p.detach()), "exp_avg_sq": flow.zeros_like(p.detach())}

    def update(self, params, states, step, *, lr, betas, eps, weight_decay):
        """Writes the parameters and their averages, all tensors in one call."""
        tensors = [
            *params,
            *[s["exp_avg"] for s in states],
            *[s["exp_avg_sq"] for s in states],
            *[p.grad for p in params],
        ]
        flow.adamw_(*tensors, lr, step, 1.0, betas=tuple(betas), eps=eps, weight_decay=weight_decay)
