"""Dropout: setting elements, or whole channels, to zero at random."""

import flow_core as flow

dropout = flow.dropout

__all__ = ["dropout"]
