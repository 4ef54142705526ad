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
                f"Not compiled with data parallel: a plain program takes one feed dict, got a list of {len(feed)}; "
                "use fluid.CompiledProgram(program).with_data_parallel(...)"
            )
        feed = feed[0]
    if not isinstance(feed, dict):
        raise TypeError(f"feed requires dict as its Parameter. But you passed in {type(feed)}")
    return feed


def check_feed_names(program: Program, names: Sequence[str]) -> None:
    """Raise for names that the program does not have."""
    block = program.global_block()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"feed names are strings, got {name!r} ({type(name).__name__})")
        if name not in block.vars:
            data = sorted(v.name for v in block.vars.values() if v.is_data)
            raise ValueError(
                f"var {name} not in this block: the program has no variable {name!r} to feed; it takes {data}"
            )


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
        if array.dtype == np.uint16:
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
            f"cannot feed an array of {found} for {name!r}: it is not a tensor of {declared}{_taker(variable)}"
        )
    if not found.isnative:
        array = array.astype(found.newbyteorder("="))
    if array.dtype != declared:
        odd.note(name, declared, array.dtype)
    return array


def _check_parameter(variable: Variable | None, array: Array) -> None:
    if isinstance(variable, Parameter) and tuple(array.shape) != variable.shape:
        raise ValueError(
            f"the parameter {variable.name!r} has shape {list(variable.shape)}, it was fed {list(array.shape)}"
            f"{_taker(variable)}"
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
            raise ValueError(f"the LoDTensor fed for {name!r} holds no data: set() it first{_taker(variable)}")
        return value.array, value.levels
    if isinstance(value, np.ndarray):
        return np.asarray(value), NO_LOD  # a matrix or a masked array has operators of its own
    if hasattr(value, "__cuda_array_interface__"):
        return value, NO_LOD
    if isinstance(value, tuple):
        return np.array(value), NO_LOD
    if isinstance(value, list):
        raise RuntimeError(
            f"Some of your feed data hold LoD information: {name!r} was fed a list. They can not be completely "
            "cast from a list of Python ndarray to LoDTensor. Feed an ndarray, or a LoDTensor made by "
            f"fluid.create_lod_tensor / DataFeeder.{_taker(variable)}"
        )
    if isinstance(value, (int, float, bool, np.generic)):
        if variable is None:
            raise AssertionError(f"the dtype of {name!r} is unknown, feed an ndarray instead of {value!r}")
        return np.array([value], to_numpy(variable.dtype)), NO_LOD
    if hasattr(value, "__array__"):
        return np.asarray(value), NO_LOD
    raise TypeError(f"cannot feed {type(value).__name__} for {name!r}: use an ndarray or a LoDTensor{_taker(variable)}")


def check_fed(variable: Variable, array: Any, sequences: bool) -> None:
    shape, declared = list(array.shape), list(variable.shape)
    if sequences and shape:
        shape[0] = -1  # the declared size counts sequences, the array's rows
    # As in 1.8.5: compare dim by dim, ignoring declared dims beyond those of the array.
    if not 0 < len(shape) <= len(declared) or any(0 <= d != s >= 0 for d, s in zip(declared, shape)):
        raise ValueError(
            f"The fed Variable {variable.name!r} should have dimensions = {len(declared)}, "
            f"shape = {tuple(declared)}, but received fed shape {shape} on each device"
            f"{_taker(variable)}"
        )
    if len(shape) < len(declared):
        warnings.warn(
            f"{variable.name!r} is declared with shape {tuple(declared)} and was fed {list(array.shape)}: Fluid 1.8.5 "
            f"takes fewer dims as they are, and so does fluidio; reshape the array if {len(declared)} dims are meant",
            stacklevel=2,
        )
    found = to_vartype(array.dtype)
    if found != variable.dtype:
        raise ValueError(
            f"The data type of fed Variable {variable.name!r} must be {_name(variable.dtype)!r}, "
            f"but received {_name(found)!r}{_taker(variable)}"
        )


def _name(dtype: VarType) -> str:
    return str(to_numpy(dtype))
