"""Find the fluidio object for a name in one of Fluid's modules."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from fluidio.errors import NotHere
from fluidio.names.advice import advice_for
from fluidio.names.table import has_module, key_of, module

__all__ = ["find", "has", "missing", "names_here"]

_NOTHING = object()


def find(key: str, name: str) -> Any:
    """Return the object that Fluid's module `key` has under a name.

    Raises:
        NotHere: fluidio lacks it; the text says what to use.
    """
    found = _look(key, name)
    if found is _NOTHING:
        raise missing(key, name)
    return found


def has(key: str, name: str) -> bool:
    """Return whether fluidio has a name of one of Fluid's modules."""
    return _look(key, name) is not _NOTHING


def names_here(key: str) -> list[str]:
    """Return the names that `from module import *` imports: those in `__all__`, if any, that exist here."""
    entry = module(key)
    names = {*entry.exported, *entry.older, *entry.ours} if entry.exported else entry.names()
    return sorted(name for name in names if has(key, name))


def _look(key: str, name: str) -> Any:
    entry = module(key)
    if name in entry.ours:
        home = entry.ours[name]
        return getattr(importlib.import_module(home), name) if home else importlib.import_module(f"fluidio.{name}")
    if name in entry.taken:
        there, original = entry.taken[name]
        found = _look(there, original) if original else importlib.import_module(module(there).path)
        if found is not _NOTHING:
            return found
    elif has_module(inner := key_of(f"{key}.{name}")):
        return importlib.import_module(module(inner).path)
    return _search(entry.homes, name)


def _search(homes: tuple[str, ...], name: str) -> Any:
    """Search the modules themselves; their `__getattr__` from the table would only come back here."""
    for home in homes:
        names = vars(importlib.import_module(home))
        if name in names:
            return names[name]
        own = names.get("__getattr__")
        if own is not None and own.__module__ == home != "fluidio":
            with contextlib.suppress(AttributeError):
                return own(name)
    return _NOTHING


def missing(key: str, name: str) -> NotHere:
    """Return the error for a missing name, with what to use."""
    entry = module(key)
    places = [(key, name), *([entry.taken[name]] if name in entry.taken else [])]
    is_known = name in entry.names() or has_module(f"{key}.{name}")
    instead = advice_for(places, is_known=is_known)
    return NotHere(f"{key}.{name}", instead or (lambda: _near(key, name)))


def _near(key: str, name: str) -> str:
    """Return the names of a module that resemble a misspelt one."""
    entry = module(key)
    known = {*entry.names(), *(word for home in entry.homes for word in vars(importlib.import_module(home)))}
    words = [word for word in known if not word.startswith("_")]
    import difflib  # slow to import, and seldom needed

    near = [word for word in difflib.get_close_matches(name, words, 4, 0.6) if has(key, word)]
    if near:
        return f"did you mean {' or '.join(near[:2])}?"
    return f"there is no similar name; {advice_for([(key, name)], is_known=True)}"
