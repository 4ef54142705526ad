"""The table of formats: each reads a file as (slots, blocks) and writes slots and blocks to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fluidio.conversion.formats import arrow, mxnet, npz, recordio, tfrecord, webdataset
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files.schema import Field

__all__ = ["FORMATS", "Format", "of_name", "of_path", "stem"]


class Format(NamedTuple):
    """A file format.

    Attributes:
        suffix: the suffix of its file names.
        read: (path, slots or None) -> (slots, blocks).
        write: (path, slots, blocks).
        keeps_slots: whether its files hold the slots themselves.
        has_nulls: whether they may contain nulls; `read` then takes `nulls=`.
    """

    suffix: str
    read: Callable[..., tuple[list[Field], Iterator[RecordBlock]]]
    write: Callable[[str, list[Field], Iterable[RecordBlock]], None]
    keeps_slots: bool
    has_nulls: bool = False


FORMATS = {
    "arrow": Format(".arrow", arrow.read_ipc, arrow.write_ipc, True, True),
    "mxnet": Format(".rec", mxnet.read, mxnet.write, False),
    "npz": Format(".npz", npz.read, npz.write, True),
    "parquet": Format(".parquet", arrow.read_parquet, arrow.write_parquet, True, True),
    "recordio": Format("", recordio.read, recordio.write, False),
    "tfrecord": Format(".tfrecord", tfrecord.read, tfrecord.write, False),
    "webdataset": Format(".tar", webdataset.read, webdataset.write, False),
}
_SUFFIXES = {".arrow": "arrow", ".feather": "arrow", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet"}
_SUFFIXES |= {
    ".recordio": "recordio",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".tar": "webdataset",
    ".rec": "mxnet",
}


def of_name(name: str) -> Format:
    """Return a format by its name."""
    if name not in FORMATS:
        raise ConversionError(f"there is no format {name!r}: choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def of_path(path: str) -> Format:
    """Return the format of a file by its name; a name without a known suffix is RecordIO."""
    name = next((name for suffix, name in _SUFFIXES.items() if path.endswith(suffix)), "recordio")
    return FORMATS[name]


def stem(name: str) -> str:
    """Return a file's name without the extension of its format, whichever of its extensions that is."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
