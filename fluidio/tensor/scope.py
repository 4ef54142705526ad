"""Scope: variables by name, with parents; they persist between runs of a program."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from fluidio.current import Current
from fluidio.errors import EnforceNotMet
from fluidio.tensor.lod_tensor import LoDTensor
from fluidio.tensor.selected_rows import SelectedRows
from fluidio.tensor.tensor_array import LoDTensorArray

__all__ = ["Scope", "ScopeVariable", "global_scope", "scope_guard", "switch_scope"]


_changing = threading.RLock()  # threads share scopes; existing variables are found without it


class ScopeVariable:
    """One named value of a scope: a tensor, an array of tensors, sparse rows, a reader, a number.

    `writes` counts the writes of programs, so that holders of a copy can detect in-place changes.
    """

    __slots__ = ("__weakref__", "name", "value", "writes")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None
        self.writes = 0

    def _get(self, kind: type, what: str) -> Any:
        if self.value is None:
            made = kind()
            with _changing:  # another thread may be first
                self.value = made if self.value is None else self.value
        if not isinstance(self.value, kind):
            raise EnforceNotMet(f"the variable {self.name!r} holds a {type(self.value).__name__}, not {what}")
        return self.value

    def get_tensor(self) -> LoDTensor:
        tensor: LoDTensor = self._get(LoDTensor, "a LoDTensor")
        return tensor

    def get_lod_tensor_array(self) -> LoDTensorArray:
        array: LoDTensorArray = self._get(LoDTensorArray, "a LoDTensorArray")
        return array

    def get_selected_rows(self) -> SelectedRows:
        rows: SelectedRows = self._get(SelectedRows, "SelectedRows")
        return rows

    def get_fetch_list(self) -> LoDTensorArray:
        """Return the list that fetch ops fill."""
        return self.get_lod_tensor_array()

    def get_bytes(self) -> bytes:
        return bytes(self.value)

    def get_lod_rank_table(self) -> Any:
        return self.value

    def get_reader(self) -> Any:
        if not hasattr(self.value, "read_next"):
            raise EnforceNotMet(f"the variable {self.name!r} holds no reader yet: run the startup program first")
        return self.value

    def is_int(self) -> bool:
        return isinstance(self.value, int)

    def set_int(self, value: int) -> None:
        number = int(_number(value, (float, str)))
        self._get(int, "an int")
        self.value = number

    def get_int(self) -> int:
        return int(self._number(int, "an int"))

    def is_float(self) -> bool:
        return isinstance(self.value, float)

    def set_float(self, value: float) -> None:
        number = float(_number(value, (str,)))
        self._get(float, "a float")
        self.value = number

    def get_float(self) -> float:
        return float(self._number(float, "a float"))

    def _number(self, kind: type, what: str) -> Any:
        if self.value is None:
            raise EnforceNotMet(f"the variable {self.name!r} is empty, expected {what}")
        return self._get(kind, what)

    def __repr__(self) -> str:
        return f"ScopeVariable({self.name!r}, {type(self.value).__name__})"


def _number(value: Any, refused: tuple[type, ...]) -> Any:
    if isinstance(value, refused):
        raise TypeError(f"cannot store {value!r} as this kind of number in the scope")
    return value


class Scope:
    """Named variables; `find_var` looks through the parents, `var` creates here."""

    __slots__ = ("__weakref__", "_children", "_variables", "parent", "version")

    def __init__(self, parent: Scope | None = None) -> None:
        self._variables: dict[str, ScopeVariable] = {}
        self._children: list[Scope] = []
        self.parent = parent
        self.version = 0
        """Counts variables made and erased, so that plans know when to look names up again."""

    def var(self, name: str) -> ScopeVariable:
        """Return the variable of this scope, created if absent; parents are ignored."""
        variable = self._variables.get(name)
        if variable is None:
            if not isinstance(name, str):
                raise TypeError(f"the name of a variable must be a str, got {name!r}")
            made = ScopeVariable(name)
            with _changing:  # another thread may be first
                variable = self._variables.setdefault(name, made)
                self.version += 1
        return variable

    def find_var(self, name: str) -> ScopeVariable | None:
        """Return the variable of this scope or the nearest parent that has it, else None."""
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"the name of a variable must be a str, got {name!r}")
        scope: Scope | None = self
        while scope is not None:
            variable = scope._variables.get(name)
            if variable is not None:
                return variable
            scope = scope.parent
        return None

    def root(self) -> Scope:
        """Return the outermost ancestor, where persistable variables live."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def new_scope(self) -> Scope:
        kid = Scope(self)
        self._children.append(kid)
        return kid

    def _kids(self) -> list[Scope]:
        return list(self._children)

    def drop_kids(self) -> None:
        """Drop the child scopes; their variables survive only if referenced elsewhere."""
        self._children.clear()

    def _remove_from_pool(self) -> None:
        """Drop the scope's contents, as removing it from the pool of all scopes did."""
        with _changing:
            self._children.clear()
            self._variables.clear()
            self.version += 1

    def erase(self, names: list[str]) -> None:
        with _changing:
            for name in names:
                self._variables.pop(name, None)
            self.version += 1

    def local_var_names(self) -> list[str]:
        return list(self._variables)

    def __contains__(self, name: str) -> bool:
        return self.find_var(name) is not None

    def __repr__(self) -> str:
        return f"Scope({len(self._variables)} variables)"


_global_scope = Current(Scope())


def global_scope() -> Scope:
    """Return the scope that programs run in unless another is given."""
    return _global_scope.get()


def switch_scope(scope: Scope) -> Scope:
    """Make `scope` the global one and return the previous one."""
    return _global_scope.switch(scope)


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Make `scope` the global one inside the block; outside the main thread, only for that thread.

    Fluid: a body that raised left the scope behind; here it is restored.
    """
    if not isinstance(scope, Scope):
        raise TypeError(f"scope_guard takes a fluid.Scope(), got {type(scope).__name__}")
    with _global_scope.guard(scope):
        yield
