"""yaml.load without a loader."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["yaml_load", "yaml_load_all"]


def _yaml() -> Any:
    return importlib.import_module("yaml")


def yaml_load(stream: object, Loader: object = None) -> Any:
    """Return the value in a stream; the default loader builds plain data only, as since PyYAML 5.1."""
    return _yaml().load(stream, Loader=Loader or _yaml().FullLoader)


def yaml_load_all(stream: object, Loader: object = None) -> Any:
    """Return the values in a stream."""
    return _yaml().load_all(stream, Loader=Loader or _yaml().FullLoader)
