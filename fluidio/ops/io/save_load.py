"""Ops that save and load variables; `feed` and `fetch`, which mark the inputs and outputs of a saved model."""

from __future__ import annotations

import os
import struct
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

__all__ = ["encode_variable"]

_rows_head = struct.Struct("<IQ")


@op("feed", "X", "Out", {"col": 0}, infer=None, grad=False, raw=True)
def feed(k: Call, frame: Any) -> None:
    """Mark an input of a saved model; the executor sets fed values by name."""


@op("fetch", "X", "Out", {"col": 0}, infer=None, grad=False, raw=True)
def fetch(k: Call, frame: Any) -> None:
    """Mark an output of a saved model; the executor takes results by name."""


def encode_variable(value: Any, lod: Any, name: str) -> bytes:
    """Return a tensor or sparse rows as the bytes of a variable file."""
    from fluidio.recordio.format.tensor_codec import encode_tensor  # the formats load when a file is written or read

    if isinstance(value, SelectedRows):
        rows = np.asarray(value.rows(), np.int64)
        head = _rows_head.pack(0, rows.size) + rows.tobytes() + struct.pack("<q", value.height())
        return head + encode_tensor(np.asarray(value.value))[12:]  # without the LoD part
    if not hasattr(value, "dtype"):
        raise EnforceNotMet(
            f"cannot save the variable {name}: it holds {'nothing' if value is None else type(value).__name__}"
        )
    return encode_tensor(value, lod)


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
    path = k.attrs["file_path"]
    check_consent(k.op, f"write {path}")
    _check_overwrite(k, path)
    data = _encoded(k, frame, k.ins["X"][0])
    with write_whole(path) as file:
        file.write(data)


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
    """Write several variables one after another to one file, or to memory (into Y)."""
    if k.attrs["save_to_memory"]:
        frame.set(k.outs["Y"][0], b"".join(_encoded(k, frame, slot) for slot in k.ins["X"]))
        return
    path = k.attrs["file_path"]
    check_consent(k.op, f"write {path}")
    _check_overwrite(k, path)
    with write_whole(path) as file:
        for slot in k.ins["X"]:
            file.write(_encoded(k, frame, slot))


def _read(k: Call, path: str) -> bytes:
    check_consent(k.op, f"read {path}")
    try:
        with open_regular(path) as file:
            return file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise EnforceNotMet(
            f"{k.op.type}: cannot open {path} ({error.strerror}); each variable is in a file of its own name, "
            "or all are in one, the one given as `filename` when they were saved"
        ) from None


def _decode(k: Call, data: bytes, offset: int, path: str, name: str) -> tuple[Any, Any, int]:
    from fluidio.recordio.format.compressors import CodecError
    from fluidio.recordio.format.tensor_codec import decode_tensor

    try:
        array, lod, end = decode_tensor(data, offset)
    except CodecError as error:
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
    path, slot = k.attrs["file_path"], k.outs["Out"][0]
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
    """Read several variables from one file, in the order of Out."""
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
