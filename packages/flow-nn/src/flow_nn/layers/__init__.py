"""Layers, by theme."""
