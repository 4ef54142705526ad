"""Run a text of the user's through the capsule."""

from __future__ import annotations

from typing import Any

from fluidio.paddle.capsule.cookies import encoding_of
from fluidio.paddle.capsule.modules import renew
from fluidio.paddle.sources import compile_source


def run(text: str, path: str = "script.py") -> dict[str, Any]:
    """Return the names of a module after it ran."""
    loaded = compile_source(text.encode(encoding_of(text)), path)
    names: dict[str, Any] = {"__name__": "script", "__file__": path}
    loaded.prepare(names)
    exec(loaded.code, names)
    return names


def value(text: str) -> Any:
    """Return what a text binds to `a`."""
    return run(text)["a"]


def renewed(text: str) -> str:
    """Return the text as `fluidio port` writes it."""
    return renew(text, "script.py").with_imports()
