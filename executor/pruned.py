"""Run part of a program: the ops needed for the fetched values and for the updates of some or all optimizers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from fluidio.executor.fetch import flat_fetches
from fluidio.program import Operator, OpRole, Program
from fluidio.program.attached import Attached

__all__ = ["PrunedParts", "known_part", "pruned_program", "split_updates"]

_KEPT = 64
_Key = tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]


class PrunedParts:
    """Parts of a program keyed by feeds, fetches and updates, each with the program version it was made from."""

    def __init__(self) -> None:
        self.parts: dict[_Key, tuple[int, Any]] = {}


def split_updates(fetch_list: Any) -> tuple[list[Any], list[Operator]]:
    """Separate a fetch list into variables and update ops (including those `minimize` returned)."""
    wanted: list[Any] = []
    updates: list[Operator] = []
    for item in flat_fetches(
        fetch_list if isinstance(fetch_list, (list, tuple)) else [fetch_list] if fetch_list else []
    ):
        if isinstance(item, Operator):
            updates.append(item)
        elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], list):
            updates += item[0]
        elif isinstance(item, tuple) and item and isinstance(item[0], Operator):
            updates += item
        else:
            wanted.append(item)
    for op in updates:
        if not isinstance(op, Operator) or not _is_update(op):
            raise TypeError(f"fetch_list holds the op {getattr(op, 'type', op)}: put its output variable there")
    return wanted, updates


def _is_update(op: Operator) -> bool:
    return bool(int(op.attrs.get("op_role", 0)) & OpRole.Optimize)


def known_part(
    program: Any, feeds: Sequence[str], names: Sequence[str], updates: Sequence[Operator], make: Callable[[], Any]
) -> Any:
    """Return what `make` made from this version of the program for these feeds, fetches and updates."""
    source: Program = program if isinstance(program, Program) else program._program
    key = (tuple(feeds), tuple(names), tuple(op.idx for op in updates))
    known = program.attached.get(PrunedParts).parts
    version, found = known.get(key, (-1, None))
    if found is None or version != source.changes:
        if len(known) >= _KEPT:
            known.clear()
        found = make()
        known[key] = source.changes, found
    return found


def pruned_program(program: Any, feeds: Sequence[str], names: Sequence[str], updates: Sequence[Operator]) -> Any:
    """Return a Program (or CompiledProgram) of the ops that names and updates need; all updates if none is given."""
    source: Program = program if isinstance(program, Program) else program._program
    chosen = list(updates) or [op for op in source.global_block().ops if _is_update(op)]
    found = source._prune_with_input(feeds, [*names, *chosen])
    return found if program is source else _compiled_like(program, found)


def _compiled_like(compiled: Any, program: Program) -> Any:
    twin = copy.copy(compiled)
    twin._program, twin._plans, twin.attached = program, {}, Attached()
    return twin
