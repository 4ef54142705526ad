"""`fluid.contrib.slim.core`: where the Compressor stood."""

from __future__ import annotations

from typing import Any

from fluidio.contrib.slim.compressor import Compressor
from fluidio.errors import not_supported

__all__ = ["Compressor"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    not_supported(f"fluid.contrib.slim.core.{name}", "shrink the saved float32 network with another tool")
