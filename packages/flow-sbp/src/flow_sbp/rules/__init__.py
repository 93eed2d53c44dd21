"""Sharding rules, keyed by op name."""
