"""The table of Fluid's modules, their names, and where these are in fluidio."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["FluidModule", "has_module", "hidden_modules", "key_of", "keys_at", "module", "modules"]


@dataclass(frozen=True)
class FluidModule:
    """One module of Fluid.

    Attributes:
        key: its name, `fluid.layers.loss` or `paddle.reader`.
        path: its module in fluidio, a file or made from this table.
        homes: modules of fluidio to search for its names, first to last.
        exported: its `__all__`; empty where it has none.
        older: names that it had in older versions.
        others: its other names.
        taken: name -> (module, name there) for names from other modules; the name is "" for a whole module.
        ours: name -> module of fluidio, for names that no Fluid had.
    """

    key: str
    path: str
    homes: tuple[str, ...]
    exported: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    taken: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ours: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> set[str]:
        """Return every name that the table knows in this module."""
        return {*self.exported, *self.older, *self.others, *self.taken, *self.ours}


def key_of(name: str) -> str:
    """Return the name in the table of an import: `fluid.layers` for `paddle.fluid.layers`."""
    key = name.removeprefix("paddle.") if name == "paddle.fluid" or name.startswith("paddle.fluid.") else name
    for old, new in _other_names().items():
        if key == old or key.startswith(f"{old}."):
            return new + key[len(old) :]
    return key


def modules() -> list[str]:
    """Return the names of all modules."""
    return list(_sections())


def has_module(key: str) -> bool:
    """Return whether Fluid had a module."""
    return key in _sections()


@functools.cache
def module(key: str) -> FluidModule:
    """Return one module of the table; KeyError if Fluid had none of the name."""
    head, lines = _sections()[key]
    homes = head.partition(":")[2]
    path = _path(key)
    return FluidModule(
        key=key,
        path=path,
        homes=tuple(_full(home) for home in homes.split()) or (path,),
        exported=tuple(_words(lines, "*")),
        older=tuple(_words(lines, "~")),
        others=tuple(_words(lines, ".")),
        taken=dict(_taken(lines)),
        ours=dict(_ours(lines)),
    )


@functools.cache
def hidden_modules() -> list[str]:
    """Return the modules whose parents have something else under their name: `fluid.data` is a function."""
    return [key for key, (head, _) in _sections().items() if "!" in head.partition(":")[0]]


def keys_at(path: str) -> list[str]:
    """Return the modules of Fluid that a module of fluidio represents, its own first."""
    return _paths().get(path, [])


@functools.cache
def _text() -> list[str]:
    text = Path(__file__).with_name("modules.txt").read_text("utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


@functools.cache
def _sections() -> dict[str, tuple[str, list[str]]]:
    """Return the head line and further lines of every module."""
    found: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] = []
    for line in _text():
        if line.startswith(" "):
            lines.append(line)
        elif line and " = " not in line:
            lines = []
            found[line.split(maxsplit=1)[0].rstrip(":")] = line, lines
    return found


@functools.cache
def _other_names() -> dict[str, str]:
    return dict(line.split(" = ") for line in _text() if " = " in line)


@functools.cache
def _paths() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in sorted(_sections(), key=hidden_modules().__contains__):
        found.setdefault(_path(key), []).append(key)
    return found


@functools.cache
def _path(key: str) -> str:
    head = _sections()[key][0]
    own = [word[1:] for word in head.partition(":")[0].split() if word.startswith("@")]
    if own or "." not in key:
        return _full(*own) if own else "fluidio"
    parent, _, last = key.rpartition(".")
    return f"{_path(parent)}.{last}"


def _full(home: str) -> str:
    return "fluidio" if home == "." else f"fluidio.{home}"


def _words(lines: list[str], mark: str) -> Iterator[str]:
    for line in lines:
        kind, *words = line.split()
        if kind == mark:
            yield from words


def _taken(lines: list[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for line in lines:
        kind, *words = line.split()
        if kind == "<":
            for word in words[1:]:
                name, _, there = word.partition("=")
                yield name, (words[0], there or name)
    for word in _words(lines, "@"):
        name, _, key = word.partition("=")
        yield name, (key, "")


def _ours(lines: list[str]) -> Iterator[tuple[str, str]]:
    for word in _words(lines, "+"):
        name, _, home = word.partition("=")
        yield name, _full(home) if home else ""
