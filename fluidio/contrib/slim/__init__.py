"""`fluid.contrib.slim`: the Compressor trains and evaluates; nothing here shrinks a network."""

from __future__ import annotations

from typing import Any

from fluidio.contrib.slim.compressor import Compressor
from fluidio.errors import not_supported

__all__ = ["Compressor"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    not_supported(f"fluid.contrib.slim.{name}", "train the network with fluid.Executor directly, without compression")
