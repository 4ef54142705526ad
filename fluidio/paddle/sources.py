"""Load the script's own modules; Python 2 residue in them is modernised on the way, never in site-packages."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from fluidio.paddle.modernise import to_code_text

__all__ = ["LocalFinder", "compile_source"]


def compile_source(data: bytes, path: str) -> CodeType:
    """Compile source text; what Python 3 would stumble over is rewritten first, with one note on stderr."""
    tree, notes = to_code_text(importlib.util.decode_source(data), path)
    if notes:
        print(f"fluidio run: {path}: modernised while loading: {', '.join(notes)}", file=sys.stderr)
    return compile(tree, path, "exec", dont_inherit=True)


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile_source(self.get_data(path), path)


class LocalFinder(importlib.abc.MetaPathFinder):
    """Find modules below the script's folder, but nothing that was installed there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        if not self._is_local(Path(spec.origin)):
            return None
        loader: Any = _Loader(fullname, spec.origin)
        spec.loader = loader
        return spec

    def _is_local(self, origin: Path) -> bool:
        try:
            inside = origin.resolve().relative_to(self.folder)
        except ValueError:
            return False
        return not {"site-packages", "dist-packages"} & set(inside.parts) and not any(
            part.startswith((".venv", "venv")) for part in inside.parts
        )
