"""The functions of `imp` that scripts use; Python 3.12 removed the module."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

__all__ = ["find_module", "load_source", "new_module", "reload"]

new_module = ModuleType
reload = importlib.reload


def load_source(name: str, pathname: str, file: object = None) -> ModuleType:
    """Load a file as a module with that name."""
    from fluidio.paddle.sources import CapsuleLoader

    loader = CapsuleLoader(name, pathname)
    spec = importlib.util.spec_from_file_location(name, pathname, loader=loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def find_module(name: str, path: Any = None) -> tuple[None, str | None, tuple[str, str, int]]:
    """Return where a module is; ImportError if it is not found."""
    spec = importlib.machinery.PathFinder.find_spec(name, path) or importlib.util.find_spec(name)
    if spec is None:
        raise ImportError(f"No module named {name!r}", name=name)
    return None, spec.origin, ("", "", 0)
