"""Lookup tables."""

import flow_core as flow
from flow_nn import functional, init
from flow_nn.module import Module, Parameter


class Embedding(Module):
    """ids (...) to their rows (..., embedding_dim) of a table of `num_embeddings` rows."""

    def __init__(self, num_embeddings, embedding_dim, *, dtype=flow.float32):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = Parameter(flow.zeros(num_embeddings, embedding_dim, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the table anew from the standard normal distribution."""
        init.normal_(self.weight)

    def forward(self, ids):
        return functional.embedding(ids, self.weight)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}"
