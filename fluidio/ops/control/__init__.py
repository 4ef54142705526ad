"""Loops, branches, arrays of tensors, callbacks."""
