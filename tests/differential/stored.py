"""Cases with the results of the real 1.8.5, kept in tests/data/differential so that they run without it."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "Store", "read_stored"]

FOLDER = Path(__file__).parent.parent / "data" / "differential" / "cases"
_LARGEST, _LARGEST_PROGRAM = 14000, 40000  # bytes of JSON; smaller cases say the same


class Store:
    """Keep small cases until each op has `count`, and then those that compare what no kept one does.

    Args:
        known: {op: (number of cases, what they compare)} of the cases that are there already.
    """

    def __init__(self, count: int, known: dict[str, tuple[int, set[Any]]]) -> None:
        self.count = count
        self.kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.numbers = Counter({about: number for about, (number, _) in known.items()})
        self.compared: dict[str, set[Any]] = defaultdict(
            set, {about: set(found) for about, (_, found) in known.items()}
        )

    def add(self, case: dict[str, Any], real: dict[str, Any], compares: set[Any]) -> None:
        """Keep a case if it is small and wanted."""
        about = case["about"]
        entry = {"case": case, "real": real}
        largest = _LARGEST_PROGRAM if about.startswith("program") else _LARGEST
        enough = self.numbers[about] >= self.count and compares <= self.compared[about]
        if not self.count or enough or len(json.dumps(entry)) >= largest:
            return
        self.numbers[about] += 1
        self.compared[about] |= compares
        self.kept[about].append(entry)

    def write(self) -> None:
        for about, entries in self.kept.items():
            if entries:
                write_stored(about, entries)


def write_stored(about: str, entries: list[dict[str, Any]]) -> None:
    """Add entries to an op's file; a case of the same id is replaced."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{_file(about)}.json.gz"
    known = {entry["case"]["id"]: entry for entry in (read_stored(path) if path.exists() else [])}
    known.update({entry["case"]["id"]: entry for entry in entries})
    lines = "\n".join(json.dumps(known[name], separators=(",", ":"), sort_keys=True) for name in sorted(known))
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


def _file(about: str) -> str:
    """Return where cases are kept: those of layers, which are many, by their first letter."""
    return (
        f"layers {about.rpartition('.')[2].removeprefix('layer ')[0].lower()}" if about.startswith("layer ") else about
    )


def read_stored(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file: {"case", "real"}."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
