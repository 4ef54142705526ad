"""Let `import paddle.fluid` find fluidio, in this process only; an installed paddle is not touched."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from fluidio.paddle.aliases import ROOTS, target_of

__all__ = ["install_as_paddle", "is_installed", "uninstall"]


class _AliasLoader(importlib.abc.Loader):
    """Hand out the fluidio module itself, so that classes are the same under both names."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._own_spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec  # the import system has put the alias's spec there


class _PaddleFinder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root not in ROOTS:
            return None
        found = target_of(fullname)
        if found is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r} in fluidio, which stands for paddle here; `fluidio port --check` lists "
                "what a script needs and fluidio lacks",
                name=fullname,
            )
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(found), is_package=True)


_finder = _PaddleFinder()


def is_installed() -> bool:
    """Tell whether `import paddle` finds fluidio in this process."""
    return _finder in sys.meta_path


def install_as_paddle() -> None:
    """Let `import paddle`, `import paddle.fluid ...` and `import recordio` find fluidio from now on.

    For notebooks and test suites; `python -m fluidio run` does it for scripts.

    Raises:
        ImportError: the real paddle is imported already.
    """
    if is_installed():
        return
    for root in ROOTS:
        module = sys.modules.get(root)
        if module is not None and not str(getattr(module, "__name__", "")).startswith("fluidio"):
            raise ImportError(
                f"{root} is already imported from {getattr(module, '__file__', '?')}: "
                "call fluidio.install_as_paddle() before the first `import paddle`"
            )
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo install_as_paddle: forget the aliases that were imported."""
    if is_installed():
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n.partition(".")[0] in ROOTS]:
        if sys.modules[name].__name__.startswith("fluidio"):
            del sys.modules[name]
