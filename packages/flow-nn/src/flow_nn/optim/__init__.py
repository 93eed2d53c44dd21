"""Optimizers, learning-rate schedules and clipping."""

from flow_nn.optim.adamw import AdamW as AdamW
from flow_nn.optim.clip import clip_grad_norm_ as clip_grad_norm_
from flow_nn.optim.schedule import warmup_cosine as warmup_cosine
