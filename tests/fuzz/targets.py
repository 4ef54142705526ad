"""What is attacked: for each parser of foreign bytes some good inputs, and a function that raises our errors only."""

from __future__ import annotations

import io
import pickle
import struct
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import pickles, recordio
from fluidio.conversion.formats import tfrecord
from fluidio.dataset.mat5 import read_mat
from fluidio.dtypes import VarType
from fluidio.errors import ConversionError, EnforceNotMet, ModelError, RecordIOError, UnsafePickleError
from fluidio.io.slot_text import parse_line
from fluidio.models.npz import read_npz
from fluidio.models.pickle_index import index_arrays
from fluidio.models.safetensors import read_safetensors
from fluidio.models.stored import tensors_in
from fluidio.ops.io import whole_files
from fluidio.program.proto import parse_program, serialize_program
from fluidio.recordio.decode.block_reader import BlockReader
from fluidio.recordio.files import schema
from fluidio.recordio.files.index import build_index
from fluidio.recordio.files.survey import survey
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.tensor_codec import decode_record, encode_record
from tests.fuzz import file_targets as files
from tests.fuzz.command_targets import COMMANDS
from tests.pickles import programs

ROOT = Path(__file__).parent
DATA = ROOT.parent / "data"


@dataclass(frozen=True)
class Target:
    """One parser; `seeds` gives good inputs, `run` takes any bytes, `allowed` is what it may raise.

    `effort` is how many times as long as a parser it takes: whole commands are attacked less often.
    """

    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...]
    effort: int = 1

    def attack(self, data: bytes) -> bool:
        """Parse some bytes; True if they were taken for good. Anything but an allowed error is a find."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.run(data)
            except self.allowed:
                return False
        return True


def corpus(name: str) -> list[bytes]:
    """Return the inputs of a target that were finds once."""
    return [path.read_bytes() for path in sorted((ROOT / "corpus" / name).glob("*"))]


# -- RecordIO ----------------------------------------------------------------------------------------------------------


def _recordio_seeds() -> list[bytes]:
    out = []
    for dialect in ("fluid", "go", "elasticdl"):
        for compressor in ("none", "snappy", "gzip", *(["zstd"] if dialect == "fluid" else [])):
            stream = io.BytesIO()
            with recordio.Writer(stream, compressor, 3, dialect=dialect) as writer:
                writer.write_block([np.arange(8, dtype="f4").reshape(4, 2), np.arange(4)[:, None]])
            out.append(stream.getvalue())
    return out


def _read_recordio(data: bytes) -> None:
    for read in (
        lambda: build_index(io.BytesIO(data), on_error="skip"),
        lambda: survey(io.BytesIO(data), verify=True),
        lambda: [block.take(range(len(block))[::-1]) for block in BlockReader(io.BytesIO(data), on_error="skip")],
    ):
        try:
            read()
        except RecordIOError:
            continue
    with ChunkReader(io.BytesIO(data), verify_inner=True) as reader:
        for chunk in reader:
            chunk.records()


def _tensor_seeds() -> list[bytes]:
    words = np.arange(5)[:, None]
    return [
        encode_record([(np.ones((2, 3), "f4"), ()), (words, (np.array([0, 2, 5]),))]),
        encode_record([(np.ones((0, 7), "f8"), ()), (np.ones(3, "u1"), (np.array([0, 1]), np.array([0, 3])))]),
    ]


# -- models ------------------------------------------------------------------------------------------------------------


@cache
def _program_seeds() -> tuple[bytes, ...]:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.layers.data("x", [3])
        y = fluid.layers.fc(x, 2, act="relu")
        counter = fluid.layers.fill_constant([1], "int64", 0)
        loop = fluid.layers.While(fluid.layers.less_than(counter, fluid.layers.fill_constant([1], "int64", 3)))
        with loop.block():
            fluid.layers.increment(counter)
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(y))
    return serialize_program(main), serialize_program(startup)


def _read_program(data: bytes) -> None:
    program = parse_program(data)
    str(program)
    parse_program(serialize_program(program.clone()))


# -- other text and bytes ----------------------------------------------------------------------------------------------


def _tfrecord_seeds() -> list[bytes]:
    return [tfrecord.frame(seed) * 2 for seed in _example_seeds()]


def _example_seeds() -> list[bytes]:
    features = [
        tfrecord._features_of_strings("name", [b"a", b"bc"]),
        tfrecord._feature("ids", 3, tfrecord._field(1, tfrecord.varints(np.array([1, -2, 300])))),
    ]
    return [tfrecord.example(features)]


def _read_tfrecord(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".tfrecord") as file:
        file.write(data)
        file.flush()
        for record in tfrecord.read_records(file.name):
            tfrecord.parse_example(record)


def _read_examples(data: bytes) -> None:
    tfrecord.parse_example(data)


class _Slot:
    def __init__(self, name: str, dtype: VarType) -> None:
        self.name, self.dtype = name, dtype


_SLOTS: list[Any] = [_Slot("ids", VarType.INT64), _Slot("dense", VarType.FP32)]
_SLOT_TEXT = b"3 1 2 18446744073709551615 2 0.5 -1e3\n"
_MANIFEST = b'[{"name": "x", "dtype": "float32", "shape": [3, -1], "lod_level": 1}]'
_LIST = b'{"generation": "0123456789abcdef0123456789abcdef", "files": ["a", "b/c"]}'


def _weights(find: Any, suffix: str = "") -> Callable[[bytes], object]:
    return files.reading(lambda path: files.all_arrays(path, find), suffix)


TARGETS: dict[str, Target] = {
    "recordio": Target(_recordio_seeds, _read_recordio, (RecordIOError,)),
    "tensors": Target(_tensor_seeds, lambda data: decode_record(memoryview(data)), (CodecError,)),
    "programs": Target(lambda: list(_program_seeds()), _read_program, (EnforceNotMet, ValueError, NotImplementedError)),
    "pickles": Target(
        lambda: programs.WHOLE,
        lambda data: pickles.preview(pickles.loads(data)),
        (UnsafePickleError, pickle.UnpicklingError, EOFError),
    ),
    "tfrecord": Target(_tfrecord_seeds, _read_tfrecord, (ConversionError,)),
    "examples": Target(_example_seeds, _read_examples, (ConversionError,)),
    "manifests": Target(lambda: [_MANIFEST], schema.from_json, (ConversionError,)),
    "save lists": Target(lambda: [_LIST], lambda data: whole_files._parsed(data, "list"), (ValueError,)),
    "slot text": Target(lambda: [_SLOT_TEXT], lambda data: parse_line(data, _SLOTS), (ValueError,)),
    "npz sets": Target(lambda: [files.set_of("npz")], files.reading(files.exported, ".npz"), (ConversionError,)),
    "tar sets": Target(lambda: [files.set_of("webdataset")], files.reading(files.exported, ".tar"), (ConversionError,)),
    "mxnet": Target(lambda: [files.images()], files.reading(files.exported, ".rec"), (ConversionError,)),
    "safetensors": Target(lambda: [files.safetensors()], _weights(read_safetensors), (ModelError,)),
    "npz weights": Target(lambda: [files.zipped()], _weights(read_npz, ".npz"), (ModelError,)),
    "pickled weights": Target(files.pickled, _weights(index_arrays), (ModelError,)),
    "tensor files": Target(lambda: [seed[4:] for seed in _tensor_seeds()], _weights(tensors_in), (CodecError,)),
    "indexes": Target(lambda: [files.index()], files.read_index, ()),
    "matlab": Target(files.matlab, files.reading(read_mat), (RuntimeError,)),
    "feed descriptions": Target(lambda: [files.feed_description()], files.reading(files.describe_feed), (ValueError,)),
    **{name: Target(seeds, run, (), effort=25) for name, (seeds, run) in COMMANDS.items()},
}


def repaired(name: str, data: bytes) -> bytes:
    """Return an input whose checksums fit again, where a target has any, so that damage gets past them."""
    if name in ("recordio", "records commands"):
        return _repaired_recordio(data)
    if name == "indexes":
        return files.repaired_index(data)
    if name in ("tfrecord", "tfrecord commands") and len(data) > 16:
        (length,) = struct.unpack_from("<Q", data)
        return tfrecord.frame(data[12 : 12 + min(length, len(data))])
    return data


def _repaired_recordio(data: bytes) -> bytes:
    from fluidio.recordio.format.dialects import DIALECTS, HEADER_SIZE, MAGIC

    dialect = DIALECTS[len(data) % len(DIALECTS)]
    out, at = bytearray(), 0
    while data[at : at + 4] == MAGIC and len(data) - at >= HEADER_SIZE:
        header = dialect.parse(data[at : at + HEADER_SIZE])
        stored = data[at + HEADER_SIZE : at + HEADER_SIZE + header.size]
        fixed = header._replace(checksum=dialect.checksum(stored), size=len(stored))
        out += dialect.pack(fixed) + stored
        at += HEADER_SIZE + max(1, len(stored))
    return bytes(out) + data[at:]
