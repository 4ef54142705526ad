"""Backends that run steps, one for each place."""

from fluidio.executor.devices.choose import backend_for

__all__ = ["backend_for"]
