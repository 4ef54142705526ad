"""Helpers of `fluid.executor` that legacy code calls by name; the Executor itself does without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_numpy, to_vartype
from fluidio.executor.feed import check_fed
from fluidio.places import PlaceLike
from fluidio.program import Block, Operator, Program, Variable
from fluidio.program.arguments import Feed, FetchList
from fluidio.tensor import LoDTensor
from fluidio.tensor import switch_scope as _switch_scope

__all__ = [
    "_as_lodtensor",
    "_get_program_cache_key",
    "_get_strong_program_cache_key",
    "_switch_scope",
    "_to_name_str",
    "add_feed_fetch_ops",
    "check_feed_shape_type",
    "dimension_is_compatible_with",
    "dtype_is_compatible_with",
    "has_feed_operators",
    "has_fetch_operators",
]


def dimension_is_compatible_with(first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two shapes agree, where a negative dim matches any size."""
    return len(first) == len(second) and all(a == b or a < 0 or b < 0 for a, b in zip(first, second))


def dtype_is_compatible_with(first: DTypeLike, second: DTypeLike) -> bool:
    return to_vartype(first) == to_vartype(second)


def check_feed_shape_type(var: Variable, feed: object, num_places: int = 1) -> bool:
    """Return whether a tensor may be fed for a Variable; otherwise raise a ValueError that explains why."""
    check_fed(var, feed.array if isinstance(feed, LoDTensor) else feed, False)
    return True


def has_feed_operators(block: Block, feed_targets: object, feed_holder_name: str) -> bool:
    """Return whether a block has ops that take feeds from this holder."""
    return any(op.type == "feed" and op.input("X") == [feed_holder_name] for op in block.ops)


def has_fetch_operators(block: Block, fetch_targets: object, fetch_holder_name: str) -> bool:
    """Return whether a block has ops that put results into this holder."""
    return any(op.type == "fetch" and op.output("Out") == [fetch_holder_name] for op in block.ops)


def add_feed_fetch_ops(program: Program, feed: Any, fetch_list: Any, feed_name: str, fetch_name: str) -> Program:
    """Return a copy of a program with feed and fetch ops, as Fluid's own executor ran it."""
    copy = program.clone()
    block = copy.global_block()
    if not has_feed_operators(block, feed, feed_name):
        holder = block.create_var(name=feed_name, type=VarType.FEED_MINIBATCH, persistable=True)
        for column, name in enumerate(feed):  # Fluid: the last one comes first
            block._prepend_op(type="feed", inputs={"X": [holder]}, outputs={"Out": [name]}, attrs={"col": column})
    if not has_fetch_operators(block, fetch_list, fetch_name):
        results = block.create_var(name=fetch_name, type=VarType.FETCH_LIST, persistable=True)
        for column, item in enumerate(fetch_list):
            names = [_to_name_str(item)]
            block.append_op(type="fetch", inputs={"X": names}, outputs={"Out": [results]}, attrs={"col": column})
    return copy


def _as_lodtensor(data: object, place: PlaceLike, dtype: DTypeLike | None = None) -> LoDTensor:
    """Return numbers or an array as a LoDTensor without sequences."""
    if isinstance(data, list):
        raise RuntimeError(
            "a list does not say where sequences begin: pass a NumPy array, or a LoDTensor from fluid.create_lod_tensor"
        )
    array = np.asarray(data)
    if np.isscalar(data):
        if dtype is None:
            raise AssertionError(f"the number {data!r} needs a dtype to become a tensor: pass dtype=")
        array = np.array([data]).astype(to_numpy(to_vartype(dtype)))
    tensor = LoDTensor()
    tensor.set(array, place)
    return tensor


def _to_name_str(var: object) -> str:
    """Return the name of a Variable, the number of an op, or both for a list."""
    if isinstance(var, str):
        return var
    if isinstance(var, Variable):
        return var.name
    if isinstance(var, (list, tuple)):
        return ",".join(_to_name_str(one) for one in var)
    if isinstance(var, Operator):
        return str(var.idx)
    raise TypeError(f"expected a Variable, an op or a name, got {type(var).__name__} {var!r}")


def _get_program_cache_key(feed: Feed, fetch_list: FetchList) -> str:
    return str(list(feed or ()) + [_to_name_str(one) for one in fetch_list or ()])


def _get_strong_program_cache_key(program: Program, feed: Feed, fetch_list: FetchList) -> str:
    """Return the key of a program's plan for these feeds and fetches, which no other program has."""
    return f"{id(program)}{_get_program_cache_key(feed, fetch_list)}"
