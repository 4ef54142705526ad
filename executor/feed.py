"""Check and convert what the user feeds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy, to_vartype
from fluidio.executor.dtype_watch import OddFeeds
from fluidio.executor.frame import Frame
from fluidio.program import Parameter, Program, Variable
from fluidio.program.arguments import Feed
from fluidio.program.call_site import describe
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array
from fluidio.tensor.lod import NO_LOD, LoD
from fluidio.tensor.lod_tensor import from_uint16

__all__ = ["check_feed_names", "feed_dict", "set_feeds"]


def feed_dict(feed: Feed | None) -> dict[str, Any]:
    """Return the feed as a dict; a list of one dict (from an iterable loader) is unwrapped."""
    if feed is None:
        return {}
    if isinstance(feed, (list, tuple)):
        if not feed:
            return {}
        if len(feed) != 1:
            raise AssertionError(
                f"feed is a list of {len(feed)} dicts, but the program runs on one place and takes one dict; "
                "for several places compile it with fluid.CompiledProgram(program).with_data_parallel(...)"
            )
        feed = feed[0]
    if not isinstance(feed, dict):
        raise TypeError(f"feed must be a dict of names and values, got {type(feed).__name__}")
    return feed


def check_feed_names(program: Program, names: Sequence[str]) -> None:
    """Raise for names that the program does not have."""
    block = program.global_block()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"feed: names must be str, got {type(name).__name__} {name!r}")
        if name not in block.vars:
            data = sorted(v.name for v in block.vars.values() if v.is_data)
            raise ValueError(f"feed: the program has no variable {name!r}; it takes {data}")


def set_feeds(f: Frame, slots: Sequence[int], variables: Sequence[Variable | None], feed: dict[str, Any]) -> None:
    """Put the fed values into the frame; persistable ones reach the scope once all feeds are checked."""
    plan = f.plan
    upload = plan.dev.upload if plan.dev.is_gpu else None
    stored = []
    plan.odd_feeds.forget()
    for slot, variable, dtype, (name, value) in zip(slots, variables, plan.feed_dtypes, feed.items()):
        if type(value) is np.ndarray:
            array, lod = value, NO_LOD
        else:
            array, lod = _convert(name, variable, value)
        if array.dtype != dtype and array.dtype == np.uint16:
            array = from_uint16(array)
        if variable is not None and variable.need_check_feed:
            check_fed(variable, array, bool(lod))
        if array.dtype != dtype and dtype is not None:
            array = _other_dtype(plan.odd_feeds, name, variable, dtype, array)
        if f.variables[slot] is not None:
            _check_parameter(variable, array)
            array = array.copy()
            stored.append(slot)
        f.values[slot] = array if upload is None else upload(array)
        f.lods[slot] = lod
    for slot in stored:
        f.store(slot)


def _other_dtype(odd: OddFeeds, name: str, variable: Variable | None, declared: object, array: Array) -> Any:
    """Return an array of an undeclared dtype in native byte order; raise if the dtype cannot be a tensor's."""
    found = array.dtype
    if found.kind not in "biuf":
        raise TypeError(
            f"feed: the values for {name!r} are {found}, which cannot become a tensor of {declared}{_taker(variable)}"
        )
    if not found.isnative:
        array = array.astype(found.newbyteorder("="))
    if array.dtype != declared:
        odd.note(name, declared, array.dtype)
    return array


def _check_parameter(variable: Variable | None, array: Array) -> None:
    if isinstance(variable, Parameter) and tuple(array.shape) != variable.shape:
        raise ValueError(
            f"feed: the parameter {variable.name!r} has shape {list(variable.shape)}, but the array has shape "
            f"{list(array.shape)}{_taker(variable)}"
        )


def _taker(variable: Variable | None) -> str:
    """Return a line about the first op that reads a variable, for errors."""
    if variable is not None:
        for op in variable.block.ops:
            if variable.name in op.input_arg_names:
                site = describe(op.site)
                return f"\n  taken by op {op.type}" + (f", built at {site}" if site else "")
    return ""


def _convert(name: str, variable: Variable | None, value: Any) -> tuple[Array, LoD]:
    if isinstance(value, LoDTensor):
        if value.array is None:
            raise ValueError(f"feed: the LoDTensor for {name!r} is empty: call its set() first{_taker(variable)}")
        return value.array, value.levels
    if isinstance(value, np.ndarray):
        return np.asarray(value), NO_LOD  # a matrix or a masked array has operators of its own
    if hasattr(value, "__cuda_array_interface__"):
        return value, NO_LOD
    if isinstance(value, tuple):
        return np.array(value), NO_LOD
    if isinstance(value, list):
        raise RuntimeError(
            f"feed: {name!r} got a list, which does not say where sequences begin. Feed a NumPy array or, for "
            f"sequences, a LoDTensor from fluid.create_lod_tensor or a DataFeeder.{_taker(variable)}"
        )
    if isinstance(value, (int, float, bool, np.generic)):
        if variable is None:
            raise AssertionError(
                f"feed: the dtype of {name!r} is unknown, so the number {value!r} cannot be converted: feed a "
                "NumPy array"
            )
        return np.array([value], to_numpy(variable.dtype)), NO_LOD
    if hasattr(value, "__array__"):
        return np.asarray(value), NO_LOD
    raise TypeError(
        f"feed: {name!r} got a value of type {type(value).__name__}; feed a NumPy array or a "
        f"LoDTensor{_taker(variable)}"
    )


def check_fed(variable: Variable, array: Any, sequences: bool) -> None:
    shape, declared = list(array.shape), list(variable.shape)
    if sequences and shape:
        shape[0] = -1  # the declared size counts sequences, the array's rows
    # As in 1.8.5: compare dim by dim, ignoring declared dims beyond those of the array.
    fits = len(shape) <= len(declared) and bool(shape) == bool(declared)
    if not fits or any(0 <= d != s >= 0 for d, s in zip(declared, shape)):
        raise ValueError(
            f"feed: {variable.name!r} was declared with shape {tuple(declared)}, but the "
            f"array has shape {tuple(shape)}{_taker(variable)}"
        )
    if len(shape) < len(declared):
        warnings.warn(
            f"feed: {variable.name!r} was declared with shape {tuple(declared)}, but the array has shape "
            f"{list(array.shape)}: like Fluid 1.8.5, fluidio accepts an array with fewer dims as it is; "
            f"reshape it if you meant {len(declared)} dims",
            stacklevel=2,
        )
    found = to_vartype(array.dtype)
    if found != variable.dtype:
        raise ValueError(
            f"feed: {variable.name!r} was declared as {_name(variable.dtype)}, but the array is "
            f"{_name(found)}; convert it with astype({_name(variable.dtype)!r}){_taker(variable)}"
        )


def _name(dtype: VarType) -> str:
    return str(to_numpy(dtype))
