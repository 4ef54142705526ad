"""Look up the fetched variables and return their values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.distributed.table import Table
from fluidio.era import era
from fluidio.errors import FetchError
from fluidio.executor.fetched import FetchedArray
from fluidio.executor.frame import Frame
from fluidio.ops.compiled.turned import row_by_row
from fluidio.program import Operator, Program, Variable
from fluidio.program.arguments import FetchList
from fluidio.tensor import LoDTensor, LoDTensorArray, SelectedRows
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["FetchesUpdates", "check_fetch_names", "check_given", "fetch_names", "take"]


class FetchesUpdates(TypeError):
    """A fetch list holds ops, or what `minimize` returned: the program is pruned to them."""


def fetch_names(fetch_list: FetchList) -> tuple[str, ...]:
    """Return the names in a fetch list of variables and strings; a single one counts as a list of one."""
    if type(fetch_list) is list:  # the usual list, at once
        names: list[Any] = [
            item.name if type(item) is Variable else item if type(item) is str else None for item in fetch_list
        ]
        if None not in names:
            return tuple(names)
    if not fetch_list and not isinstance(fetch_list, Variable):
        return ()
    if isinstance(fetch_list, (Variable, str)):
        fetch_list = [fetch_list]
    if isinstance(fetch_list, dict) or not isinstance(fetch_list, Iterable):
        raise TypeError(f"fetch_list must be a list of Variables and names, got {type(fetch_list).__name__}")
    return tuple([_name(item) for item in flat_fetches(fetch_list)])


def flat_fetches(fetch_list: Iterable[object]) -> Iterator[object]:
    """Return the items of a fetch list, and in place of each list in it the items of that."""
    for item in fetch_list:
        if isinstance(item, list):
            yield from item
        else:
            yield item


def _name(item: object) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, Variable):
        return item.name
    if isinstance(item, tuple) and item and all(isinstance(one, Operator) for one in item):
        raise FetchesUpdates("fetch_list holds several ops: put their output variables there")
    if isinstance(item, (list, tuple)) and len(item) == 1:
        return _name(item[0])
    if isinstance(item, Operator):
        raise FetchesUpdates(f"fetch_list holds the op {item.type}: put its output variable there")
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], list):
        raise FetchesUpdates("fetch_list holds a pair: a list and something else")
    raise TypeError(f"fetch_list takes Variables, names and the result of minimize(), got {type(item).__name__}")


def check_fetch_names(program: Program, names: Sequence[str]) -> None:
    """Raise for names that the program does not have."""
    block = program.global_block()
    for name in names:
        if name not in block.vars:
            near = difflib.get_close_matches(name, block.vars, 3, 0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else "."
            raise FetchError(
                f"fetch_list: the program has no variable {name!r}{hint} Fetch Variables rather than names, and "
                "run the program that they were built in."
            )


def check_given(f: Frame) -> None:
    """Raise if a variable is produced by no op and provided by neither scope nor feed."""
    for slot in f.plan.given_fetches:
        if f.values[slot] is None:
            raise _nothing(f, slot, f.plan.name_of(slot))


def take(f: Frame, slots: Sequence[int], names: Sequence[str], return_numpy: bool) -> list[Array]:
    """Return copies of the fetched values, with a single wait for a GPU."""
    if f.plan.dev.is_gpu:
        _bring_down(f, slots)
    if return_numpy:
        values, lods = f.values, f.lods
        return [
            # The usual value, at once.
            _copied(values[slot]).view(FetchedArray)
            if type(values[slot]) is np.ndarray and values[slot].size and not lods[slot]
            else _one(f, slot, name, True)
            for slot, name in zip(slots, names)
        ]
    return [_one(f, slot, name, False) for slot, name in zip(slots, names)]


def _bring_down(f: Frame, slots: Sequence[int]) -> None:
    wanted = [slot for slot in dict.fromkeys(slots) if hasattr(f.values[slot], "dtype")]
    for slot, array in zip(wanted, f.plan.dev.fetch([f.values[slot] for slot in wanted])):
        f.values[slot] = array


def _one(f: Frame, slot: int, name: str, return_numpy: bool) -> Any:
    value = f.values[slot]
    if value is None:
        if f.variables[slot] is not None or slot in f.plan.given_fetches:
            raise _nothing(f, slot, name)
        value = np.empty(0)  # Fluid: an output that an op leaves unset (an index of another mode) is an empty tensor
    if isinstance(value, np.generic):  # what NumPy makes of arrays without dims
        value = np.asarray(value)
    if isinstance(value, SelectedRows):
        return (
            np.asarray(f.plan.dev.download(value.to_dense(f.plan.dev.xp))).view(FetchedArray) if return_numpy else value
        )
    if isinstance(value, Table):
        whole = np.array(value.whole())
        return whole.view(FetchedArray) if return_numpy else LoDTensor.wrap(whole)
    if isinstance(value, LoDTensorArray):
        return [np.array(t).view(FetchedArray) for t in value] if return_numpy else list(value)
    lod = f.lods[slot]
    if value.size == 0 and era().empty_fetches_hold_nothing:
        return _empty(lod, name, return_numpy)
    if not return_numpy:
        array = _copied(value) if isinstance(value, np.ndarray) or f.plan.dev.is_gpu else value
        return LoDTensor.wrap(f.plan.dev.download(array) if f.plan.dev.is_gpu else array, lod)
    if lod:
        raise _has_lod(name, lod)
    host = f.plan.dev.download(value)
    return (_copied(host) if host is value else host).view(FetchedArray)


def _copied(array: Array) -> Array:
    """Return a copy that is stored row by row."""
    return array.copy() if array.flags.c_contiguous else row_by_row(np, array)


def _empty(lod: LoD, name: str, return_numpy: bool) -> LoDTensor | None:
    """Return what 1.8 gives for a tensor without numbers: nothing but its LoD."""
    if return_numpy and lod:
        raise _has_lod(name, lod)
    return None if return_numpy else LoDTensor.wrap(None, lod)


def _has_lod(name: str, lod: LoD) -> RuntimeError:
    return RuntimeError(
        f"fetch_list: {name!r} holds sequences (LoD levels: {len(lod)}), which a NumPy array cannot keep "
        "apart: pass return_numpy=False to get a LoDTensor"
    )


def _nothing(f: Frame, slot: int, name: str) -> FetchError:
    where = "run the startup program first" if f.variables[slot] is not None else "no op of this run produced it"
    return FetchError(f"fetch_list: the variable {name!r} holds no data ({where})")
