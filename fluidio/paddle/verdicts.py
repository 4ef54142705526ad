"""Resolve paddle names, and suggest similar ones."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from fluidio.errors import NotHere
from fluidio.names import find, has_module, key_of, table

__all__ = ["nearest", "resolve"]


def resolve(api: str) -> Any:
    """Return the object behind `fluid.layers.fc`; AttributeError, with the module's advice, if there is none."""
    key = key_of(api)
    advice: NotHere | None = None
    for module in _modules_above(key):
        try:
            return _below(module, key[len(module) + 1 :])
        except NotHere as error:
            advice = advice or error
        except AttributeError:
            continue
    raise advice or AttributeError(f"fluidio has no {api}")


def _modules_above(key: str) -> list[str]:
    """Return the modules that may contain a name, nearest first; those hidden by a function of that name come last."""
    parts = key.split(".")
    found = [".".join(parts[:cut]) for cut in range(len(parts), 0, -1)]
    return sorted((module for module in found if has_module(module)), key=table.hidden_modules().__contains__)


def _below(module: str, names: str) -> Any:
    if not names:
        return importlib.import_module(table.module(module).path)
    first, *others = names.split(".")
    found = find(module, first)
    for name in others:
        found = getattr(found, name)
    return found


def nearest(api: str) -> str:
    """Return a hint at names similar to a missing one."""
    parent, _, last = api.rpartition(".")
    try:
        names = dir(resolve(parent)) if parent else []
    except (AttributeError, ImportError):
        return "no such module here"
    near = difflib.get_close_matches(last, [n for n in names if not n.startswith("_")], 2, 0.6)
    return f"did you mean {' or '.join(near)}?" if near else "not part of fluidio"
