"""Ops that change shapes and move, join, cut or pick elements."""
