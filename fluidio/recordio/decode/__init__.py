"""Decode chunks into blocks of columns."""
