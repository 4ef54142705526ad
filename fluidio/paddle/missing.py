"""What `paddle.X` says when there is no X here."""

from __future__ import annotations

import importlib
from typing import Any

from fluidio.errors import NotHere

__all__: list[str] = []

_LAZY = {"dataset": "fluidio.dataset", "utils": "fluidio.paddle.utils", "v2": "fluidio.paddle.v2"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(_LAZY[name])
    raise NotHere(
        f"paddle.{name}",
        "it answers to Fluid 0.12 - 1.8 (paddle.fluid.*, paddle.batch, paddle.reader, paddle.dataset); "
        "Paddle 2.x names are not part of it",
    )
