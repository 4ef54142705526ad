"""Which kind of distributed training a fleet does."""

from __future__ import annotations

__all__ = ["Mode"]


class Mode:
    """Numbers of Fluid's three kinds; PSLIB, a closed library, is not here."""

    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3
