"""Activations, matrix products, reductions."""
