"""Ops that create tensors from attributes and shapes alone."""
