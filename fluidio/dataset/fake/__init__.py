"""Generated stand-ins for the data sets: the same files in the same formats, with generated, learnable content."""

from __future__ import annotations

from fluidio.dataset.fake.cache import make, path

__all__ = ["make", "path"]
