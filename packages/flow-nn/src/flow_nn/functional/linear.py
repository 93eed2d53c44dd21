"""Linear maps of the last dim, and looking rows up."""

import flow_core as flow

linear = flow.linear


def embedding(ids, weight):
    """The rows of weight (rows, channels) that ids name: (*ids.shape, channels)."""
    return flow.take_rows(ids, weight)


__all__ = ["embedding", "linear"]
