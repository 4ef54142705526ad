"""Fluid's random numbers, and ops that draw them while a program runs."""
