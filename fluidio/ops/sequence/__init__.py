"""Ops on sequences of different lengths."""
