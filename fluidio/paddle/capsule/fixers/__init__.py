"""Fixers of our own, where those of fissix change the meaning."""
