"""The ops, by theme."""
