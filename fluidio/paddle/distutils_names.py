"""The few names of distutils that training scripts use; the package left Python with 3.12."""

from __future__ import annotations

import functools
import itertools
import re
from types import SimpleNamespace

__all__ = ["LooseVersion", "StrictVersion", "dir_util", "strtobool", "util", "version"]


def strtobool(val: str) -> int:
    """Return 1 for y, yes, t, true, on, 1 and 0 for their opposites."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")


@functools.total_ordering
class LooseVersion:
    """A version that compares number by number."""

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


def _mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    import os

    os.makedirs(name, mode, exist_ok=True)
    return [name]


dir_util = SimpleNamespace(mkpath=_mkpath)
util = SimpleNamespace(strtobool=strtobool)
version = SimpleNamespace(LooseVersion=LooseVersion, StrictVersion=StrictVersion)
