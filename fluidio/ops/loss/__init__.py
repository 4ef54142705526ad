"""Losses, structured ones included."""
