"""Check and convert what the user feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy, to_vartype
from fluidio.executor.frame import Frame
from fluidio.program import Program, Variable
from fluidio.tensor import LoDTensor
from fluidio.tensor.lod import NO_LOD, LoD

__all__ = ["check_feed_names", "feed_dict", "set_feeds"]


def feed_dict(feed: Any) -> dict[str, Any]:
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
    """Refuse names that the program does not have."""
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
    """Put the fed values into the frame."""
    upload = f.plan.dev.upload if f.plan.dev.is_gpu else None
    for slot, variable, (name, value) in zip(slots, variables, feed.items()):
        if type(value) is np.ndarray:
            array, lod = value, NO_LOD
        else:
            array, lod = _convert(name, variable, value)
        if array.dtype == np.uint16:
            array = array.view(np.float16)  # Fluid: uint16 carries the bits of float16
        if variable is not None and variable.need_check_feed:
            _check(variable, array, bool(lod))
        f.values[slot] = array if upload is None else upload(array)
        f.lods[slot] = lod
        if f.variables[slot] is not None:
            f.values[slot] = f.values[slot].copy()
            f.store(slot)


def _convert(name: str, variable: Variable | None, value: Any) -> tuple[Any, LoD]:
    if isinstance(value, LoDTensor):
        if value.array is None:
            raise ValueError(f"the LoDTensor fed for {name!r} holds no data: set() it first")
        return value.array, value.levels
    if isinstance(value, np.ndarray) or hasattr(value, "__cuda_array_interface__"):
        return value, NO_LOD
    if isinstance(value, (list, tuple)):
        raise RuntimeError(
            f"Some of your feed data hold LoD information: {name!r} was fed a {type(value).__name__}. They can not be "
            "completely cast from a list of Python ndarray to LoDTensor. Feed an ndarray, or a LoDTensor made by "
            "fluid.create_lod_tensor / DataFeeder."
        )
    if isinstance(value, (int, float, bool, np.generic)):
        if variable is None:
            raise AssertionError(f"the dtype of {name!r} is unknown, feed an ndarray instead of {value!r}")
        return np.array([value], to_numpy(variable.dtype)), NO_LOD
    if hasattr(value, "__array__"):
        return np.asarray(value), NO_LOD
    raise TypeError(f"cannot feed {type(value).__name__} for {name!r}: use an ndarray or a LoDTensor")


def _check(variable: Variable, array: Any, sequences: bool) -> None:
    shape, declared = list(array.shape), list(variable.shape)
    if sequences and shape:
        shape[0] = -1  # the declared size counts sequences, the array's rows
    if len(shape) != len(declared) or any(0 <= d != s >= 0 for d, s in zip(declared, shape)):
        raise ValueError(
            f"The fed Variable {variable.name!r} should have dimensions = {len(declared)}, "
            f"shape = {tuple(declared)}, but received fed shape {shape} on each device"
        )
    found = to_vartype(array.dtype)
    if found != variable.dtype:
        raise ValueError(
            f"The data type of fed Variable {variable.name!r} must be {_name(variable.dtype)!r}, "
            f"but received {_name(found)!r}"
        )


def _name(dtype: VarType) -> str:
    return str(to_numpy(dtype))
