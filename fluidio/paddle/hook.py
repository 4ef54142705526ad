"""Let `import paddle.fluid` find fluidio, in this process only; an installed paddle is not touched."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

from fluidio.names import has_module, key_of
from fluidio.names.advice import family_of
from fluidio.names.modules_here import AliasLoader
from fluidio.names.table import modules

__all__ = ["install_as_paddle", "is_installed", "uninstall"]

_ROOTS = ("paddle", "recordio")
"""Top-level names that legacy scripts import and fluidio answers to."""


class _PaddleFinder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        key = key_of(fullname)
        if not has_module(key):
            advice = None if key.startswith("fluid.") and key.count(".") == 1 else family_of(key)
            advice = advice or "`fluidio port --check` lists what a script needs and fluidio lacks"
            raise ModuleNotFoundError(
                f"No module named {fullname!r} in fluidio, which stands in for paddle here: {advice}", name=fullname
            )
        is_package = any(other.startswith(f"{key}.") for other in modules())
        return importlib.machinery.ModuleSpec(fullname, AliasLoader(key), is_package=is_package)


_finder = _PaddleFinder()


def is_installed() -> bool:
    """Return whether `import paddle` finds fluidio in this process."""
    return _finder in sys.meta_path


def install_as_paddle() -> None:
    """Let `import paddle`, `import paddle.fluid ...` and `import recordio` find fluidio from now on.

    For notebooks and test suites; `python -m fluidio run` does it for scripts.

    Raises:
        ImportError: the real paddle is imported already.
    """
    if is_installed():
        return
    for root in _ROOTS:
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
    for name in [n for n in sys.modules if n.partition(".")[0] in _ROOTS]:
        if sys.modules[name].__name__.partition(".")[0] == "fluidio":
            del sys.modules[name]
