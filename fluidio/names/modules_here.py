"""Make every module of Fluid importable from fluidio, with all its names.

A module that has a file here keeps it, and names it lacks are looked up in the table. A module without a file is made
from the table.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from fluidio.names import table
from fluidio.names.find import find, has, names_here
from fluidio.names.stand_ins import exported, find_or_stand_in, is_stand_in

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # the import system asks for methods, not for classes, and importlib.abc imports archives and much else
    Loader = MetaPathFinder = object

__all__ = ["AliasLoader", "MadeModule", "complete", "hidden", "install"]


class MadeModule(ModuleType):
    """A module of Fluid without a file: its names are in other modules."""

    def __init__(self, path: str, key: str) -> None:
        super().__init__(path, f"Fluid's module {key}: its names are in other modules of fluidio.")
        self.key = key
        self.__path__ = []
        self._look = _lookup(self, [key])

    def __getattr__(self, name: str) -> Any:
        return self._look(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names_here(self.key)})


def _lookup(here: ModuleType, keys: list[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that represents modules of Fluid."""

    def look(name: str) -> Any:
        """Find a name of Fluid's module, or say what to use."""
        if name == "__all__":
            return exported(keys[0])
        if name.startswith("__"):
            raise AttributeError(f"module {here.__name__!r} has no attribute {name!r}")
        found = _first(keys, name)
        if isinstance(found, (type, FunctionType, ModuleType)) and not is_stand_in(found):  # other values may change
            setattr(here, name, found)
        return found

    return look


def _first(keys: list[str], name: str) -> Any:
    """Find a name in the first module that has it; the advice is the first module's."""
    for key in keys:
        if has(key, name):
            return find(key, name)
    return find_or_stand_in(keys[0], name)


def complete(here: ModuleType) -> None:
    """Give a module that has a file the Fluid names and submodules that are elsewhere."""
    keys = table.keys_at(here.__name__)
    here.__dict__.setdefault("__getattr__", _lookup(here, keys))
    if not hasattr(here, "__path__") and any(key.startswith(f"{keys[0]}.") for key in table.modules()):
        here.__path__ = []


class _SourceLoader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        complete(module)


class _MadeLoader(Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return made(table.keys_at(spec.name)[0], spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are found on demand."""


class AliasLoader(Loader):
    """Return a module loaded under another name, so that its classes are the same under both."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._own_spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        found = importlib.import_module(table.module(self.key).path)
        self._own_spec = found.__spec__
        for name, below in hidden(self.key):
            sys.modules.setdefault(f"{spec.name}.{name}", below)
        return found

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec  # the import system has replaced it by the alias's spec

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module under its own name, for `python -m`."""
        spec = importlib.util.find_spec(table.module(self.key).path)
        code: Callable[[str], CodeType | None] | None = getattr(spec and spec.loader, "get_code", None)
        return code(spec.name) if spec is not None and code is not None else None


class _Finder(MetaPathFinder):
    """Find the modules of the table below `fluidio`; `fluidio.paddle.dataset` is another name of `fluidio.dataset`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("fluidio."):
            return None
        if not table.keys_at(fullname):
            alias = table.key_of(fullname.removeprefix("fluidio."))
            is_alias = alias.startswith("paddle.") and table.has_module(alias)
            return importlib.machinery.ModuleSpec(fullname, AliasLoader(alias), is_package=True) if is_alias else None
        spec = self._file(fullname, path, target)
        if spec is None:
            return importlib.machinery.ModuleSpec(fullname, _MadeLoader(), is_package=True)
        if isinstance(spec.loader, importlib.machinery.SourceFileLoader) and spec.origin:
            spec.loader = _SourceLoader(fullname, spec.origin)
        return spec

    def _file(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ask the other finders."""
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


_made: dict[tuple[str, str], MadeModule] = {}


def made(key: str, path: str) -> MadeModule:
    """Return the module made from the table, the same one for each name in all threads."""
    return _made.get((key, path)) or _made.setdefault((key, path), MadeModule(path, key))


def hidden(parent: str) -> list[tuple[str, ModuleType]]:
    """Return the submodules that are imported without becoming attributes of their parent, with their names."""
    below = [key for key in table.hidden_modules() if key.rpartition(".")[0] == parent]
    return [(key.rpartition(".")[2], made(key, f"fluidio.{key.removeprefix('fluid.')}")) for key in below]


def install() -> None:
    """Let `import fluidio.X` find the modules of the table."""
    others = [finder for finder in sys.meta_path if type(finder).__module__ != __name__]
    sys.meta_path[:] = [_Finder(), *others]
    for key in table.hidden_modules():
        path = table.module(key).path
        if table.keys_at(path) == [key]:
            sys.modules.setdefault(path, made(key, path))
