"""Tables divided among the trainers: how they are initialised, and how their rows are updated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.distributed import group
from fluidio.distributed.table import Table, deliver_rows, divide, settle
from fluidio.dtypes import VarType, to_numpy
from fluidio.ops.create.fill import constant
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine
from fluidio.ops.registry import op
from fluidio.ops.trainers.exchange import summed
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []

_DRAWN = 1 << 22  # numbers drawn at once


@op(
    "divide_table",
    "",
    "Out",
    {
        "shape": [],
        "dtype": VarType.FP32,
        "kind": "",
        "value": 0.0,
        "str_value": "",
        "min": -1.0,
        "max": 1.0,
        "seed": 0,
    },
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def divide_table(k: Call, frame: Any) -> None:
    """Keep this trainer's rows of a table, initialised here (as op `kind` would) or by preceding ops."""
    slot = k.outs["Out"][0]
    name, variable, trainers = frame.plan.name_of(slot), frame.variables[slot], group()
    parts, index = trainers.size, trainers.communicator.rank
    height, *inner = k.attrs["shape"]
    dtype = to_numpy(k.attrs["dtype"])
    if k.attrs["kind"] == "fill_constant":
        part = np.full((len(range(index, height, parts)), *inner), constant(k), dtype)
    elif k.attrs["kind"] == "uniform_random":
        part = _drawn_rows(k, height, tuple(inner), dtype, parts, index)
    else:
        part = np.ascontiguousarray(k.dev.download(frame.values[slot])[index::parts])
    variable.value = divide(name, height, part, trainers, variable.value)
    variable.writes += 1
    frame.values[slot] = variable.value.table


def _drawn_rows(k: Call, height: int, inner: tuple[int, ...], dtype: npt.DTypeLike, parts: int, index: int) -> Array:
    """Return this trainer's rows of the whole table, which is drawn a block at a time."""
    seed = k.attrs["seed"] or engine.os_seed()
    width = int(np.prod(inner))
    part = np.empty((len(range(index, height, parts)), *inner), dtype)
    rows = max(1, _DRAWN // max(1, width * parts)) * parts
    for begin in range(0, height, rows):
        shape = (min(rows, height - begin), *inner)
        block = engine.uniform(seed, shape, k.attrs["min"], k.attrs["max"], dtype, skip=begin * width)[index::parts]
        part[begin // parts :][: len(block)] = block
    return part


@op(
    "exchange_parts",
    "X* Grad",
    "Out Parts*",
    infer=None,
    grad=False,
    lod="none",
    side_effect=True,
)
def exchange_parts(k: Call, tables: list[Table], gradient: SelectedRows) -> tuple[Any, list[Any]]:
    """Return the mean gradient of this trainer's rows over all trainers, and the parts it updates."""
    trainers = group().communicator
    settle(trainers, tables)
    index = np.asarray(k.dev.download(gradient.index), np.int64)
    rows, values = deliver_rows(trainers, index, np.asarray(k.dev.download(gradient.value)))
    values *= values.dtype.type(1 / len(trainers.members))
    rows, values = summed(rows, values)
    parts = [k.dev.upload(table.part) for table in tables]
    return SelectedRows(k.dev.upload(rows), len(parts[0]), k.dev.upload(values)), parts


@op("keep_parts", "X* Parts*", "", infer=None, grad=False, lod="none", side_effect=True)
def keep_parts(k: Call, tables: list[Table], parts: list[Array]) -> tuple[()]:
    """Store the updated parts of tables."""
    for table, part in zip(tables, parts):
        table.part = k.dev.download(part)
    return ()
