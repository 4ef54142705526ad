"""Nested structures of variables: lists, tuples, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fluidio.program import Variable

__all__ = [
    "assert_same_structure",
    "convert_to_list",
    "copy_mutable_vars",
    "flatten",
    "hold_mutable_vars",
    "is_sequence",
    "map_structure",
    "pack_sequence_as",
    "to_sequence",
]


def is_sequence(seq: object) -> bool:
    """Return whether a value is a structure: a dict or any sequence but a string."""
    return isinstance(seq, Mapping) or (isinstance(seq, Sequence) and not isinstance(seq, (str, bytes)))


def convert_to_list(value: Any, n: int, name: str, dtype: type = int) -> list[Any]:
    """Return n values: one repeated, or n given."""
    if isinstance(value, dtype):
        return [value] * n
    try:
        values = list(value)
    except TypeError:
        raise ValueError(f"The {name}'s type must be list or tuple. Received: {value}") from None
    if len(values) != n:
        raise ValueError(f"The {name}'s length must be {n}. Received: {value}")
    if not all(isinstance(v, dtype) for v in values):
        raise ValueError(f"The {name}'s type must be a list or tuple of {n} {dtype}. Received: {value}")
    return values


def _children(nest: Any) -> Iterator[Any]:
    if isinstance(nest, Mapping):
        for key in sorted(nest):
            yield nest[key]
    else:
        yield from nest


def flatten(nest: object) -> list[Any]:
    """Return the leaves of a structure in order; dicts by sorted keys."""
    if not is_sequence(nest):
        return [nest]
    return [leaf for child in _children(nest) for leaf in flatten(child)]


def to_sequence(nest: object) -> Any:
    return nest if is_sequence(nest) else [nest]


def _like(instance: Any, children: Sequence[Any]) -> Any:
    kind: Callable[..., object] = type(instance)
    if isinstance(instance, Mapping):
        return kind(zip(sorted(instance), children))
    if isinstance(instance, tuple) and hasattr(instance, "_fields"):
        return kind(*children)
    return kind(children)


def pack_sequence_as(structure: object, flat_sequence: Sequence[Any]) -> Any:
    """Put leaves into the shape of a structure."""
    if not is_sequence(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    leaves = len(flatten(structure))
    if leaves != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {leaves} elements, but flat_sequence had {len(flat_sequence)} "
            "elements."
        )
    if not is_sequence(structure):
        return flat_sequence[0]
    source = iter(flat_sequence)

    def build(node: object) -> tuple[Variable, ...]:
        return _like(node, [build(child) for child in _children(node)]) if is_sequence(node) else next(source)

    return build(structure)


def map_structure(func: Callable[..., Any], *structure: object) -> Any:
    """Apply a function to the leaves of structures and return the results in the shape of the first."""
    flat = [flatten(s) for s in structure]
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*flat)])


def hold_mutable_vars(structure: object) -> list[list[Any]]:
    """Return the lists inside a structure."""
    held = [structure] if isinstance(structure, list) else []
    if is_sequence(structure):
        held += [found for child in _children(structure) for found in hold_mutable_vars(child)]
    return held


def copy_mutable_vars(structure: object) -> Any:
    """Return the structure with its lists copied, so that a body that appends to them does not change the outside."""
    return pack_sequence_as(structure, flatten(structure))


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise ValueError (TypeError for types) where two structures differ."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(f"The two structures don't have the same nested structure: {nest1!r} and {nest2!r}")
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(f"The two structures are of different types: {type(nest1)} and {type(nest2)}")
    if isinstance(nest1, Mapping) and isinstance(nest2, Mapping) and set(nest1) != set(nest2):
        raise ValueError(f"The two dictionaries don't have the same set of keys: {set(nest1)} and {set(nest2)}")
    if len(nest1) != len(nest2):
        raise ValueError(
            f"The two structures don't have the same number of elements: {len(nest1)} against {len(nest2)}"
        )
    for a, b in zip(_children(nest1), _children(nest2)):
        assert_same_structure(a, b, check_types)
