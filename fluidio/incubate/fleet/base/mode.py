"""The kinds of distributed training."""

from __future__ import annotations

__all__ = ["Mode"]


class Mode:
    """Fluid's numbers for the three kinds; PSLIB, a closed library, is not supported."""

    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3
