"""Branches, arrays of tensors, callbacks."""
