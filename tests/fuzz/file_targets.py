"""More that is attacked: parsers that want a file."""

from __future__ import annotations

import io
import os
import pickle
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fluidio import recordio
from fluidio.conversion.export import export
from fluidio.conversion.formats import of_name
from fluidio.data_feed_desc import DataFeedDesc
from fluidio.models.safetensors import write_safetensors
from fluidio.models.stored import StoredTensor, in_memory
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.block_reader import BlockReader
from fluidio.recordio.files import sidecar
from fluidio.recordio.files.schema import Field
from fluidio.recordio.format.checksum import crc32

DATA = Path(__file__).parents[1] / "data"
_ARRAYS = {"w": np.ones((2, 3), "f4"), "large": np.arange(5000, dtype="f4"), "i": np.arange(3)}


def reading(read: Callable[[str], object], suffix: str = "") -> Callable[[bytes], object]:
    """Return a function of bytes, which are a file for a while."""

    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"a{suffix}")
            path.write_bytes(data)
            read(str(path))

    return run


def _written(write: Callable[[str], object], suffix: str = "") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        write(str(path))
        return path.read_bytes()


# -- data in other formats ---------------------------------------------------------------------------------------------


def set_of(format: str) -> bytes:
    """Return a file of two records: an array, a list and a text each."""
    ends = np.array([0, 2, 3])
    slots = [Field("a", "float32", (2,)), Field("b", "int64", (1,), 1, None, "list")]
    columns = [Column(np.ones((2, 2), "f4")), Column(np.arange(3)[:, None], ends, (ends,))]
    slots.append(Field("t", "uint8", (1,), 1, None, "str"))
    columns.append(Column(np.frombuffer(b"abc", np.uint8)[:, None], ends, (ends,)))
    made = of_name(format)
    return _written(lambda path: made.write(path, slots, [RecordBlock(columns)]), made.suffix)


def exported(path: str) -> None:
    """Convert a file to RecordIO and read that."""
    with tempfile.TemporaryDirectory() as folder:
        for made in export(path, "recordio", folder):
            for block in BlockReader(made):
                block.take(range(len(block))[::-1])


def images() -> bytes:
    """Return a file of MXNet's."""
    record = struct.pack("<IfQQ", 3, 0.0, 7, 0) + np.arange(3, dtype="f4").tobytes() + b"picture"
    return 2 * (struct.pack("<II", 0xCED7230A, len(record)) + record + bytes(-len(record) % 4))


# -- weights -----------------------------------------------------------------------------------------------------------


def all_arrays(path: str, find: Callable[[str], dict[str, StoredTensor] | list[StoredTensor] | None]) -> None:
    """Read all tensors that are found in a file."""
    found = find(path) or []
    for tensor in found.values() if isinstance(found, dict) else found:
        assert tensor.array().nbytes == tensor.nbytes


def safetensors() -> bytes:
    file = io.BytesIO()
    write_safetensors(file, [in_memory(name, array) for name, array in _ARRAYS.items()], {"a": "b"})
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    np.savez(file, w=_ARRAYS["w"], large=_ARRAYS["large"], i=_ARRAYS["i"])
    return file.getvalue()


def pickled() -> list[bytes]:
    return [pickle.dumps(_ARRAYS, protocol) for protocol in (2, 4)]


# -- an index beside its data ------------------------------------------------------------------------------------------

_CHUNKS = 10


def _with_index(use: Callable[[str, Path], object]) -> None:
    """Call `use` with a file and where its index lies."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "a.recordio"))
        with recordio.Writer(path, "none", 2) as writer:
            writer.write_block([np.arange(2 * _CHUNKS)[:, None]])
        os.utime(path, (1, 1))
        use(path, Path(sidecar.sidecar_path(path)))


def index() -> bytes:
    found: list[bytes] = []

    def use(path: str, beside: Path) -> None:
        sidecar.open_index(path, sidecar=True)
        found.append(beside.read_bytes())

    _with_index(use)
    return found[0]


def read_index(data: bytes) -> None:
    """Read a file whose index is damaged: the index counts only if it is right."""

    def use(path: str, beside: Path) -> None:
        beside.write_bytes(data)
        assert sidecar.open_index(path).num_records == 2 * _CHUNKS

    _with_index(use)


def repaired_index(data: bytes) -> bytes:
    """Return an index whose checksum fits."""
    return data[:-4] + struct.pack("<I", crc32(data[:-4]))


def matlab() -> list[bytes]:
    return [path.read_bytes() for path in sorted(DATA.rglob("*.mat"))]


def feed_description() -> bytes:
    slots = "".join(f'  slots {{ name: "{name}" type: "uint64" is_dense: false }}\n' for name in ("a", "b"))
    return f'name: "MultiSlotDataFeed"\nbatch_size: 2\nmulti_slot_desc {{\n{slots}}}\n'.encode()


def describe_feed(path: str) -> None:
    desc = DataFeedDesc(path)
    desc.set_batch_size(3)
    str(desc.proto_desc)
    Path(path).write_text(desc.desc(), "utf-8")
    DataFeedDesc(path)
