"""Ops that make tensors out of nothing but attributes and shapes."""
