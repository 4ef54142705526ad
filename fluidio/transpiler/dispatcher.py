"""Which parameter server a variable goes to: by hash of its name, or in turn."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

__all__ = ["HashName", "PSDispatcher", "RoundRobin"]


class PSDispatcher:
    """Base class: `dispatch(variables)` of a subclass returns one endpoint for each."""

    def __init__(self, pserver_endpoints: Sequence[str]) -> None:
        self._eps = list(pserver_endpoints)
        self._step = 0

    @property
    def eps(self) -> list[str]:
        return self._eps

    def reset(self) -> None:
        self._step = 0

    def dispatch(self, varlist: Sequence[object]) -> Any:
        """Return nothing: the base class knows no order."""
        return None


class HashName(PSDispatcher):
    """The same name goes to the same server in every process.

    Fluid: the hash was Python's own, which differs between processes; here it is a CRC.
    """

    def dispatch(self, varlist: Sequence[object]) -> list[str]:
        names = [str(getattr(v, "name", v)) for v in varlist]
        return [self._eps[zlib.crc32(name.encode()) % len(self._eps)] for name in names]


class RoundRobin(PSDispatcher):
    """Servers take turns."""

    def dispatch(self, varlist: Sequence[object]) -> list[str]:
        chosen = []
        for _ in varlist:
            chosen.append(self._eps[self._step])
            self._step = (self._step + 1) % len(self._eps)
        return chosen
