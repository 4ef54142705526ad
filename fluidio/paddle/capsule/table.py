"""The table of outdated names and constructs, `table.txt`: the old spelling, today's equivalent, and since when.

A row is `old -> new`, the version that dropped the old way, and `py2` where the row holds in Python 2 modules only.

    module old       import old, from old import name
    old.name         a name of a module, however the script has imported it
    .name()          a method;  .name(1)  with one argument;  .name  an attribute
    name             a builtin;  name()  a builtin when it is called
    old(key=)        only calls with that keyword;  old(2)  with two arguments;  old(lazy)  of a generator or a map;
                     old(None)  whose first argument is None
    { ... }          a construct, rewritten by the function of that name in `constructs`

A target that begins with `capsule.` is a function of this package; `*` stands for the same name in another module.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["ROWS", "Row", "rows_of"]


@dataclass(frozen=True)
class Row:
    """One old spelling, and today's equivalent."""

    old: str
    new: str
    since: str
    python2_only: bool = False

    @property
    def kind(self) -> str:
        """Return module, name, method, attribute, builtin, call or construct."""
        if self.old.startswith("module "):
            return "module"
        if self.old.startswith("{"):
            return "construct"
        if self.old.startswith("."):
            return "method" if self.old.endswith(")") else "attribute"
        if "." in self.key:
            return "name"
        return "call" if self.old.endswith(")") else "builtin"

    @property
    def key(self) -> str:
        """Return the old name without the marks of its kind."""
        return self.old.removeprefix("module ").partition("(")[0].strip(".{}")

    @property
    def condition(self) -> str:
        """Return the form that calls must have: "", "key=", "2", "lazy", "None" or "U"."""
        return self.old.partition("(")[2].rstrip(")")


def _parse(line: str) -> list[Row]:
    python2_only = line.endswith(" py2")
    words = line.removesuffix(" py2").split()
    # The version is a word or two that end in a number: "NumPy 2.4", "Python 3.0".
    since, new, olds = " ".join(words[-2:]), words[-3], words[:-3]
    if new == "__bool__":
        new, olds = " ".join(words[1:-2]), words[:1]
    if olds[0] == "module":
        olds = [f"module {olds[1]}"]
    return [_row(old, new, since, python2_only) for old in olds]


def _row(old: str, new: str, since: str, python2_only: bool) -> Row:
    row = Row(old, new, since, python2_only)
    return replace(row, new=new.replace("*", row.key.rpartition(".")[2]))


def _read() -> list[Row]:
    lines = (Path(__file__).parent / "table.txt").read_text("utf-8").splitlines()
    return [row for line in lines if line and not line.startswith("#") for row in _parse(line)]


ROWS: list[Row] = _read()


def rows_of(kind: str) -> dict[str, list[Row]]:
    """Return the rows of one kind by their key."""
    found: dict[str, list[Row]] = {}
    for row in ROWS:
        if row.kind == kind:
            found.setdefault(row.key, []).append(row)
    # Rows for Python 2 modules come before rows for any module.
    return {key: sorted(rows, key=lambda row: not row.python2_only) for key, rows in found.items()}
