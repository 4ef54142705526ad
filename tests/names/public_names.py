"""The names of Fluid that work, in tests/data/names/public.txt.

Run `python -m tests.names.public_names` to add what is new; a name that is lost stays in the file, and fails the test.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from fluidio.names import table
from fluidio.names.find import has

FILE = Path(__file__).parent.parent / "data" / "names" / "public.txt"


def working() -> dict[str, set[str]]:
    """Return the names that work, each in the module that it belongs to."""
    found: dict[str, set[str]] = {}
    for key in table.modules():
        entry = table.module(key)
        names = {*entry.exported, *entry.older, *entry.others} - set(entry.taken)
        found[key] = {name for name in names if has(key, name)}
    return found


def recorded() -> dict[str, set[str]]:
    """Return the names of the file."""
    text = FILE.read_text("utf-8").replace("\n    ", " ")
    return {key: set(names.split()) for key, _, names in (line.partition(":") for line in text.splitlines())}


def main() -> None:
    """Write the file."""
    before, now = recorded() if FILE.exists() else {}, working()
    lines: list[str] = []
    for key in sorted({*before, *now}):
        names = " ".join(sorted(before.get(key, set()) | now.get(key, set())))
        if names:
            lines += textwrap.wrap(f"{key}: {names}", 120, subsequent_indent="    ", break_on_hyphens=False)
    FILE.write_text("\n".join([*lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
