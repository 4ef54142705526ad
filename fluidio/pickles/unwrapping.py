"""Put the real arrays, dtypes and classes where the unpickler left stand-ins."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

import numpy as np

from fluidio.errors import UnsafePickleError
from fluidio.pickles.standins import ArrayStandIn, DtypeStandIn, OrderedStandIn, StandIn, TypeStandIn

__all__ = ["unwrap"]

# Members of sets and keys of dicts are never stand-ins, which cannot be hashed.
_LEAVES = frozenset([type(None), bool, int, float, complex, str, bytes, bytearray, set, frozenset])
_FILLED = (_LEAVES | {np.ndarray}) - {type(None)}  # None may be an array that has not been filled
_MOST_NESTED_ARRAYS = 1000  # NumPy frees an array of arrays of arrays ... by recursion in C


def unwrap(value: Any) -> Any:
    """Return `value` without stand-ins; its lists and dicts are changed in place."""
    if type(value) in (tuple, list):  # the common case
        items = [item.array if type(item) is ArrayStandIn else item for item in value]
        if _FILLED.issuperset(map(type, items)):
            if type(value) is tuple:
                return tuple(items)
            value[:] = items
            return value
    return _Unwrapping().run(value)


class _Unwrapping:
    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, Any]] = {}  # both are kept alive, so that no id is reused
        self.containers: list[Any] = []
        self.object_arrays: list[tuple[Any, tuple[Any, ...]]] = []
        self.nested_arrays = 0

    def run(self, value: object) -> Any:
        found = self._swap(value)
        while self.containers:
            self._fill(self.containers.pop())
        for array, state in self.object_arrays:
            array.__setstate__(state)
        return found

    def _swap(self, value: Any) -> Any:
        """Return the replacement of `value`; the contents of a container follow later."""
        kind = type(value)
        if kind in _LEAVES or isinstance(value, np.generic):
            return value
        if kind is ArrayStandIn:
            return self._array(value)
        if kind is DtypeStandIn:
            return value.code.real
        if isinstance(value, TypeStandIn):
            return value.real
        if isinstance(value, StandIn):
            raise UnsafePickleError("the pickle holds a function")
        if id(value) in self.done:
            return self.done[id(value)][1]
        new = self._tuple(value) if kind is tuple else self._container(value)
        self.done[id(value)] = (value, new)
        return new

    def _swap_all(self, values: Iterable[Any]) -> list[Any]:
        return [value if type(value) in _LEAVES else self._swap(value) for value in values]

    def _array(self, standin: ArrayStandIn) -> Any:
        if standin.objects is None:
            if standin.array is None:
                raise ValueError("an array was never filled")
            return standin.array
        array, state = standin.objects
        if id(standin) not in self.done:
            self.done[id(standin)] = (standin, array)
            items = state[-1]
            self.nested_arrays += any(type(item) is ArrayStandIn for item in items)
            if self.nested_arrays > _MOST_NESTED_ARRAYS:
                raise UnsafePickleError("the pickle nests arrays of arrays too deeply")
            self.object_arrays.append(standin.objects)
            self.containers.append(items)
        return array

    def _tuple(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if _LEAVES.issuperset(map(type, value)):
            return value
        new = tuple(self._swap_all(value))
        return value if all(a is b for a, b in zip(value, new)) else new

    def _container(self, value: object) -> Any:
        new = collections.OrderedDict(value) if type(value) is OrderedStandIn else value
        self.containers.append(new)
        return new

    def _fill(self, container: object) -> None:
        if isinstance(container, dict):
            for key, value in container.items():
                if type(value) not in _LEAVES:
                    container[key] = self._swap(value)
        elif isinstance(container, list):
            if not _LEAVES.issuperset(map(type, container)):
                container[:] = self._swap_all(container)
        elif isinstance(container, collections.deque):
            for index, value in enumerate(self._swap_all(container)):
                container[index] = value
        else:
            raise UnsafePickleError(f"the pickle holds a {type(container).__name__}")
