"""Generated stand-ins for the data sets: the same files in the same formats, made up and learnable."""

from __future__ import annotations

from fluidio.dataset.fake.cache import make, path

__all__ = ["make", "path"]
