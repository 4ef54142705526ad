"""Fluid names that fluidio lacks, imported inside a `try`: the import fails, so the program takes its other branch.

Without a `try`, such a name is imported and refused where it is used: `fluidio.names.stand_ins`.
"""

from __future__ import annotations

from typing import NoReturn

from fluidio.names import has_module, key_of, table
from fluidio.names.find import has, missing

__all__ = ["absent", "is_absent"]


def is_absent(path: str, name: str) -> bool:
    """Return whether 1.8.5 has a name in a module, such as `paddle.fluid.contrib.utils`, that fluidio does not have."""
    key = key_of(path)
    return has_module(key) and name in table.module(key).names() and not has(key, name)


def absent(path: str, name: str) -> NoReturn:
    """Raise the ImportError that the program expects."""
    raise ImportError(str(missing(key_of(path), name)), name=path)
