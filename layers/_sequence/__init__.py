"""Layers on sequences."""
