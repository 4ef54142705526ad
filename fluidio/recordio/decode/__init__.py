"""Chunks become blocks of columns."""
