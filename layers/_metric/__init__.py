"""Metrics computed inside a program."""
