"""Comparable versions."""

from __future__ import annotations

import functools
import itertools
import re

__all__ = ["LooseVersion", "StrictVersion"]


@functools.total_ordering
class LooseVersion:
    """A version compared number by number."""

    def __init__(self, vstring: str = "") -> None:
        self.vstring = vstring
        self.version = [int(p) if p.isdigit() else p for p in re.findall(r"\d+|[a-z]+", vstring)]

    def _key(self) -> list[tuple[int, int, str]]:
        return [(1, p, "") if isinstance(p, int) else (0, 0, p) for p in self.version]

    def __eq__(self, other: object) -> bool:
        return self._key() == _as_version(other)._key()

    def __lt__(self, other: object) -> bool:
        pairs = itertools.zip_longest(self._key(), _as_version(other)._key(), fillvalue=(1, 0, ""))
        return next((a < b for a, b in pairs if a != b), False)

    def __hash__(self) -> int:
        return hash(tuple(self._key()))

    def __str__(self) -> str:
        return self.vstring


def _as_version(value: object) -> LooseVersion:
    return value if isinstance(value, LooseVersion) else LooseVersion(str(value))


StrictVersion = LooseVersion
