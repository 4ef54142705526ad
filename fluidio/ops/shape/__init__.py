"""Ops that reshape, and move, join, slice or select elements."""
