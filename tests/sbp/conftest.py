"""Hypothesis without deadlines: how long an example takes says nothing where ranks and other work share the cores."""

from hypothesis import settings

settings.register_profile("flow-sbp", deadline=None)
settings.load_profile("flow-sbp")
