"""Ops that read and write files, and `feed` and `fetch` of saved models."""
