"""Arithmetic, activations, comparisons, reductions, matrix products and searches."""
