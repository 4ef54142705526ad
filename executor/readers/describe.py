"""Describe reader variables when a reader op is appended: shape, dtype and LoD level of each slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.dtypes import VarType
from fluidio.program.infer import InferContext

__all__ = [
    "infer_custom",
    "infer_decorator",
    "infer_open_files",
    "infer_read",
    "infer_source",
    "positive",
    "slot_shapes",
]


def slot_shapes(attrs: dict[str, Any]) -> list[tuple[int, ...]]:
    """Return the shapes that `shape_concat` and `ranks` stand for."""
    shapes, flat, at = [], attrs["shape_concat"], 0
    for rank in attrs["ranks"]:
        shapes.append(tuple(flat[at : at + rank]))
        at += rank
    return shapes


def infer_source(c: InferContext) -> None:
    """Describe a source from its attributes."""
    shapes, levels = slot_shapes(c.attrs), list(c.attrs["lod_levels"])
    c.check(
        len(levels) == len(shapes),
        f"lod_levels has {len(levels)} entries, but there are {len(shapes)} shapes: give one level for each",
    )
    for name in c.op.output("Out"):
        out = c.block._var_recursive(name)
        dtypes = [slot[1] for slot in out.reader_slots] or [VarType.FP32] * len(shapes)
        out.reader_slots = list(zip(shapes, dtypes, levels))
        out.type = VarType.READER
        out._persistable = True


def infer_decorator(c: InferContext) -> None:
    """Describe a reader like the one below it."""
    below = c.input("UnderlyingReader")
    out = c.block._var_recursive(c.op.output("Out")[0])
    out.reader_slots = list(below.reader_slots)
    out.type = VarType.READER
    out._persistable = True


def positive(attr: str) -> Callable[[InferContext], None]:
    """Return an inference function that requires an attribute above 0."""

    def infer(c: InferContext) -> None:
        c.check(c.attrs[attr] > 0, f"{attr} must be above 0, got {c.attrs[attr]}")
        infer_decorator(c)

    return infer


def infer_open_files(c: InferContext) -> None:
    """Describe the reader of many files."""
    c.check(c.attrs["buffer_size"] > 0, f"buffer_size must be above 0, got {c.attrs['buffer_size']}")
    c.check(c.attrs["thread_num"] > 0, f"thread_num must be above 0, got {c.attrs['thread_num']}")
    infer_source(c)


def infer_custom(c: InferContext) -> None:
    """Describe a preprocessor by its output variables."""
    infer_decorator(c)
    body = c.attrs["sub_block"]
    sinks = [body._var_recursive(name) for name in c.attrs["sink_var_names"]]
    out = c.block._var_recursive(c.op.output("Out")[0])
    out.reader_slots = [(v.shape, v.dtype, v.lod_level) for v in sinks]


def infer_read(c: InferContext) -> None:
    """Describe the outputs of `read` by the reader's slots."""
    if not c.attrs["infer_out"]:
        return
    slots = c.input("Reader").reader_slots
    names = c.op.output("Out")
    c.check(len(slots) == len(names), f"the reader delivers {len(slots)} tensors, but the op has {len(names)} outputs")
    for index, (shape, dtype, level) in enumerate(slots):
        c.set("Out", shape, dtype, level, index, VarType.LOD_TENSOR)
