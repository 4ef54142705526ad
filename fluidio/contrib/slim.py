"""`fluid.contrib.slim`: pruning, distillation and quantisation of models are not supported."""

from __future__ import annotations

from typing import Any

from fluidio.errors import not_supported

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    not_supported(f"fluid.contrib.slim.{name}", "train the network with fluid.Executor directly, without compression")
