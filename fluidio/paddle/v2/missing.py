"""What `paddle.v2.X` says when X belongs to the layer API that is older than Fluid."""

from __future__ import annotations

import importlib
from typing import Any

from fluidio.errors import NotHere, not_supported

__all__ = ["init"]

_LAZY = {"dataset": "fluidio.dataset", "image": "fluidio.dataset.image"}
_LAYER_API = frozenset(
    ("activation", "event", "infer", "inference", "layer", "networks", "optimizer", "parameters", "trainer")
)


def init(**_: Any) -> None:
    """Accept paddle.v2's process setup; nothing is needed here."""


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(_LAZY[name])
    if name in _LAYER_API:
        not_supported(f"paddle.v2.{name}", "the v2 layer API is older than Fluid; port the network to fluid.layers")
    raise NotHere(f"paddle.v2.{name}", "of paddle.v2 only batch, dataset, image, init, plot and reader are here")
