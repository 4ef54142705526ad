"""Ops that save and load variables; `feed` and `fetch`, which mark the inputs and outputs of a saved model."""

from __future__ import annotations

import os
import struct
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.distributed.table import Table
from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.ops.io.whole_files import write_whole
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.consent import check_consent
from fluidio.regular import open_regular
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__ = ["FILES", "encode_variable"]

FILES = "fluidio_files"  # fluidio's own attribute: a file for each variable of save_combine and load_combine

_rows_head = struct.Struct("<IQ")


@op("feed", "X", "Out", {"col": 0}, infer=None, grad=False, raw=True)
def feed(k: Call, frame: Any) -> None:
    """Mark an input of a saved model; the executor sets fed values by name."""


@op("fetch", "X", "Out", {"col": 0}, infer=None, grad=False, raw=True)
def fetch(k: Call, frame: Any) -> None:
    """Mark an output of a saved model; the executor takes results by name."""


@cache
def _codec() -> ModuleType:
    """Return the module of the format, which loads when a file is written or read."""
    from fluidio.recordio.format import tensor_codec

    return tensor_codec


def encode_variable(value: Any, lod: Any, name: str) -> bytes:
    """Return a tensor or sparse rows as the bytes of a variable file."""
    if isinstance(value, SelectedRows):
        rows = np.asarray(value.rows(), np.int64)
        head = _rows_head.pack(0, rows.size) + rows.tobytes() + struct.pack("<q", value.height())
        return head + bytes(_codec().encode_tensor(np.asarray(value.value))[12:])  # without the LoD part
    if not hasattr(value, "dtype"):
        raise EnforceNotMet(
            f"cannot save the variable {name}: it holds {'nothing' if value is None else type(value).__name__}"
        )
    data: bytes = _codec().encode_tensor(value, lod)
    return data


def _host(k: Call, value: Array) -> Any:
    if isinstance(value, SelectedRows):
        return SelectedRows(k.dev.download(value.index), value.height(), k.dev.download(value.value))
    if isinstance(value, Table):
        return value.whole()
    return k.dev.download(value) if hasattr(value, "dtype") else value


def _encoded(k: Call, frame: Any, slot: int) -> bytes:
    value = _host(k, frame.values[slot])
    if k.attrs.get("save_as_fp16") and getattr(value, "dtype", None) == np.float32:
        value = value.astype(np.float16)
    return encode_variable(value, frame.lods[slot], frame.plan.name_of(slot))


def _check_overwrite(k: Call, path: str) -> None:
    if not path:
        raise EnforceNotMet(f"{k.op.type}: file_path is empty")
    if not k.attrs["overwrite"] and os.path.exists(path):
        raise EnforceNotMet(f"{path} exists, and this op must not replace it (overwrite=False)")


@op(
    "save",
    "X",
    "kLookupTablePath?",
    {"file_path": "", "overwrite": True, "save_as_fp16": False},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def save(k: Call, frame: Any) -> None:
    """Write one variable to a file."""
    _write(k, frame, k.attrs["file_path"], k.ins["X"])


def _write(k: Call, frame: Any, path: str, slots: list[int]) -> None:
    check_consent(k.op, f"write {path}")
    _check_overwrite(k, path)
    first = _encoded(k, frame, slots[0])  # before there is a file: its value may be missing
    with write_whole(path) as file:
        file.write(first)
        for slot in slots[1:]:
            file.write(_encoded(k, frame, slot))


@op(
    "save_combine",
    "X*",
    "Y?",
    {"file_path": "", "overwrite": True, "save_as_fp16": False, "save_to_memory": False},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def save_combine(k: Call, frame: Any) -> None:
    """Write several variables one after another to one file, to memory (into Y), or each to a file of its own."""
    if k.attrs["save_to_memory"]:
        frame.set(k.outs["Y"][0], b"".join(_encoded(k, frame, slot) for slot in k.ins["X"]))
        return
    if FILES in k.attrs:
        for slot, path in zip(k.ins["X"], k.attrs[FILES], strict=True):
            _write(k, frame, path, [slot])
        return
    _write(k, frame, k.attrs["file_path"], k.ins["X"])


def _read(k: Call, path: str) -> bytes:
    check_consent(k.op, f"read {path}")
    try:
        with open_regular(path) as file:
            return file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise EnforceNotMet(
            f"{'load' if FILES in k.attrs else k.op.type}: cannot open {path} ({error.strerror}); each variable is in "
            "a file of its own name, or all are in one, the one given as `filename` when they were saved"
        ) from None


def _decode(k: Call, data: bytes, offset: int, path: str, name: str) -> tuple[Any, Any, int]:
    codec = _codec()
    try:
        array, lod, end = codec.decode_tensor(data, offset)
    except codec.CodecError as error:
        if offset >= len(data):
            raise EnforceNotMet(
                f"{path} ends before the variable {name}: the file is cut, or holds fewer variables"
            ) from None
        raise EnforceNotMet(f"{path}: variable {name}: {error}; the file is damaged or cut") from None
    if k.attrs.get("load_as_fp16") and array.dtype == np.float32:
        array = array.astype(np.float16)
    return array, lod, end


@op(
    "load",
    "",
    "Out",
    {"file_path": "", "load_as_fp16": False, "seek": -1, "shape": []},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def load(k: Call, frame: Any) -> None:
    """Read one variable from its file."""
    _load_one(k, frame, k.attrs["file_path"], k.outs["Out"][0])


def _load_one(k: Call, frame: Any, path: str, slot: int) -> None:
    data = _read(k, path)
    array, lod, end = _decode(k, data, 0, path, frame.plan.name_of(slot))
    if end != len(data):
        raise EnforceNotMet(
            f"{path}: {len(data) - end} extra bytes after the variable {frame.plan.name_of(slot)}: the file holds "
            "several variables; load it with filename="
        )
    frame.set(slot, k.dev.upload(array), lod)


@op(
    "load_combine",
    "",
    "Out*",
    {"file_path": "", "load_as_fp16": False, "model_from_memory": False},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def load_combine(k: Call, frame: Any) -> None:
    """Read several variables from one file, in the order of Out, or each from a file of its own."""
    if FILES in k.attrs:
        for slot, path in zip(k.outs["Out"], k.attrs[FILES], strict=True):
            _load_one(k, frame, path, slot)
        return
    path = k.attrs["file_path"]
    data, offset = (path, 0) if k.attrs["model_from_memory"] else (_read(k, path), 0)
    shown = "the bytes in memory" if k.attrs["model_from_memory"] else path
    for slot in k.outs["Out"]:
        array, lod, offset = _decode(k, data, offset, shown, frame.plan.name_of(slot))
        frame.set(slot, k.dev.upload(array), lod)
    if offset != len(data) and not era().load_combine_ignores_rest:
        raise EnforceNotMet(
            f"{shown}: {len(data) - offset} of {len(data)} bytes are left after the last variable: "
            "load_combine must load all variables of a file"
        )
