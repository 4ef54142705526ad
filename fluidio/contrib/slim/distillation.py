"""`fluid.contrib.slim.distillation`: not supported."""

from __future__ import annotations

from typing import Any

from fluidio.errors import not_supported

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    not_supported(f"fluid.contrib.slim.distillation.{name}", "shrink the saved float32 network with another tool")
