"""Recurrent networks and decoding."""
