"""Reshape, select, split and join tensors."""
