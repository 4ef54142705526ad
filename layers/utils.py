"""Nested structures of variables: lists, tuples, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fluidio.program import Variable

__all__ = [
    "_contain_var",
    "_is_symmetric_padding",
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


def _contain_var(list_or_tuple: Sequence[object]) -> bool:
    """Return whether a list holds a Variable."""
    return any(isinstance(each, Variable) for each in list_or_tuple)


def _is_symmetric_padding(padding: Sequence[int], data_dim: int) -> bool:
    """Return whether a padding is the same before and after each dim."""
    if len(padding) not in (data_dim, data_dim * 2):
        raise AssertionError(f"padding has {len(padding)} numbers for {data_dim} dims")
    return len(padding) == data_dim or all(padding[2 * i] == padding[2 * i + 1] for i in range(data_dim))


def convert_to_list(value: Any, n: int, name: str, dtype: type = int) -> list[Any]:
    """Return n values: one value repeated, or the n given."""
    if isinstance(value, dtype):
        return [value] * n
    try:
        values = list(value)
    except TypeError:
        raise ValueError(f"{name} must be {dtype.__name__}, or a list or tuple of {n} of them, got {value!r}") from None
    if len(values) != n:
        raise ValueError(f"{name} must have {n} entries, got {value!r}")
    if not all(isinstance(v, dtype) for v in values):
        raise ValueError(f"{name} must be {dtype.__name__}, or a list or tuple of {n} of them, got {value!r}")
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
    """Arrange leaves in the form of a structure."""
    if not is_sequence(flat_sequence):
        raise TypeError(f"pack_sequence_as: flat_sequence must be a sequence, got {type(flat_sequence).__name__}")
    leaves = len(flatten(structure))
    if leaves != len(flat_sequence):
        raise ValueError(
            f"pack_sequence_as: the structure has {leaves} places, but flat_sequence has {len(flat_sequence)} values"
        )
    if not is_sequence(structure):
        return flat_sequence[0]
    source = iter(flat_sequence)

    def build(node: object) -> tuple[Variable, ...]:
        return _like(node, [build(child) for child in _children(node)]) if is_sequence(node) else next(source)

    return build(structure)


def map_structure(func: Callable[..., Any], *structure: object) -> Any:
    """Apply a function to the leaves of structures; return the results in the form of the first structure."""
    flat = [flatten(s) for s in structure]
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*flat)])


def hold_mutable_vars(structure: object) -> list[list[Any]]:
    """Return the lists inside a structure."""
    held = [structure] if isinstance(structure, list) else []
    if is_sequence(structure):
        held += [found for child in _children(structure) for found in hold_mutable_vars(child)]
    return held


def copy_mutable_vars(structure: object) -> Any:
    """Return the structure with its lists copied, so that a body can append to them without changing the originals."""
    return pack_sequence_as(structure, flatten(structure))


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise ValueError (TypeError for types) if two structures differ."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(f"one of the two is a sequence, the other is not: {nest1!r} and {nest2!r}")
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(f"the types differ: {type(nest1).__name__} and {type(nest2).__name__}")
    if isinstance(nest1, Mapping) and isinstance(nest2, Mapping) and set(nest1) != set(nest2):
        raise ValueError(f"the keys of the two dicts differ: {sorted(map(str, nest1))} and {sorted(map(str, nest2))}")
    if len(nest1) != len(nest2):
        raise ValueError(f"the lengths differ: {len(nest1)} and {len(nest2)} elements")
    for a, b in zip(_children(nest1), _children(nest2)):
        assert_same_structure(a, b, check_types)
