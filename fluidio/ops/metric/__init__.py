"""Metrics computed inside the program."""
