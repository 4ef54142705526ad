"""Compare what a reader delivers with what the program declares, at the first read and whenever it changes."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from fluidio.dtypes import to_vartype
from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Tensors
from fluidio.program import Operator, Variable
from fluidio.program.call_site import describe
from fluidio.tensor.array import Array

__all__ = ["check_item", "layout_of"]

Layout = tuple[Any, ...]
_told: weakref.WeakKeyDictionary[Operator, set[str]] = weakref.WeakKeyDictionary()
"""The warnings given for each `read` op. Padded batches differ in length all the time: one warning is enough."""


def layout_of(item: Tensors) -> Layout:
    """Return the compared layout: dtype and dims after the first, for each slot."""
    return tuple([(array.dtype, array.shape[1:]) for array, _ in item])


def check_item(op: Operator, item: Tensors) -> None:
    """Compare one item with the variables that the `read` op writes.

    Variables made by `fluid.data` must match, as in Fluid >= 1.7. Fluid does not check others, and a mismatch surfaces
    in some later op: here a warning reports it at once.
    """
    names = op.output("Out")
    if len(item) != len(names):
        raise EnforceNotMet(
            f"the reader {op.input('Reader')[0]} delivers {len(item)} tensors, but the program reads "
            f"{len(names)}: {', '.join(names)}"
        )
    for position, (name, (array, lod)) in enumerate(zip(names, item)):
        variable = op.block._find_var_recursive(name)
        if variable is None:
            continue
        if variable.need_check_feed:
            _must_agree(variable, array)
        else:
            _warn(op, position, variable, array, len(lod))


def _must_agree(variable: Variable, array: Array) -> None:
    declared, shape = list(variable.shape), list(array.shape)
    if len(declared) != len(shape) or any(d >= 0 and d != s for d, s in zip(declared, shape)):
        raise EnforceNotMet(
            f"{variable.name} was declared with shape {declared}, but the reader delivered shape {shape}"
        )
    found = to_vartype(array.dtype)
    if found != variable.dtype:
        raise EnforceNotMet(
            f"{variable.name} was declared as {variable.dtype.name}, but the reader delivered {found.name}"
        )


def _warn(op: Operator, position: int, variable: Variable, array: Array, levels: int) -> None:
    declared, shape = list(variable.shape), list(array.shape)
    rank_differs = len(declared) != len(shape)
    dims_differ = any(d >= 0 and d != s for d, s in zip(declared[1:], shape[1:]))
    found = to_vartype(array.dtype)
    kind = "dtype" if found != variable.dtype else "rank" if rank_differs else "dims" if dims_differ else ""
    if not kind or kind in _told.setdefault(op, set()):
        return
    _told[op].add(kind)
    text = (
        f"slot {position} of reader {op.input('Reader')[0]} (variable {variable.name}) is declared as "
        f"{variable.dtype.name} {declared} but holds {found.name} {shape}: the data takes precedence"
    )
    if op.site is None:
        warnings.warn(text, stacklevel=2)
        return
    file, line, _ = op.site
    warnings.warn_explicit(f"{text}; read at {describe(op.site)}", UserWarning, file, line)
