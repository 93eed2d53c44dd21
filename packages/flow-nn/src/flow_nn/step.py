"""One training step on one rank: forward, backward, clipping, update."""

from flow_nn.functional import token_cross_entropy
from flow_nn.optim import clip_grad_norm_


class Step:
    """The step of a model on plain tensors, its batch in `num_microbatches` equal parts one after the other."""

    def __init__(self, model, optimizer, *, max_norm, num_microbatches=1):
        self.model, self.optimizer = model, optimizer
        self.max_norm, self.num_microbatches = max_norm, num_microbatches

    def __call__(self, inputs, targets):
        """Takes the step; returns the loss of the batch (batch, tokens), a float."""
        self.optimizer.zero_grad()
        total, n = 0.0, self.num_microbatches
        for x, y in microbatches(inputs, targets, n):
            loss = token_cross_entropy(self.model(x), y)
            if n > 1:
                loss = loss / n
            loss.backward()
            total += loss.item()
        clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        return total

    def loss_sum(self, inputs, targets):
        """The sum of the losses of all targets, without gradients."""
        return token_cross_entropy(self.model(inputs), targets, reduction="sum").item()

    def close(self):
        """Ends what the step keeps running: nothing."""


def microbatches(inputs, targets, count):
    """Pairs of the equal parts of a batch; ValueError if it has none."""
    if inputs.shape[0] % count:
        raise ValueError(f"a batch of {inputs.shape[0]} does not divide into {count} microbatches")
    size = inputs.shape[0] // count
    return [(inputs[i * size : (i + 1) * size], targets[i * size : (i + 1) * size]) for i in range(count)]
