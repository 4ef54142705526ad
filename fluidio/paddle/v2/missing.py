"""What `paddle.v2.X` says when X belongs to the layer API that is older than Fluid."""

from __future__ import annotations

import importlib
from typing import Any

from fluidio.errors import not_supported

__all__ = ["init"]

_LAYER_API = frozenset(
    ("activation", "event", "infer", "inference", "layer", "networks", "optimizer", "parameters", "trainer")
)


def init(**_: Any) -> None:
    """Accept paddle.v2's process setup; nothing is needed here."""


def __getattr__(name: str) -> Any:
    if name == "dataset":
        return importlib.import_module("fluidio.dataset")
    if name in _LAYER_API:
        not_supported(f"paddle.v2.{name}", "the v2 layer API is older than Fluid; port the network to fluid.layers")
    raise AttributeError(f"module 'paddle.v2' has no attribute {name!r} in fluidio")
