"""Ops that read and write files, and the ends of a saved model."""
