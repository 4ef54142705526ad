"""The three dialects of RecordIO: the same magic and header size of 20 bytes, but incompatible fields.

              words after the magic          checksum   compressor ids
    fluid     records crc compressor size    CRC-32     0 none, 1 snappystream, 2 gzip, "zstd" ours
    go        crc compressor size records    CRC-32     0 none, 1 snappy framing, 2 gzip
    elasticdl records crc compressor size    CRC-32C    1 none, 2 raw snappy, 3 gzip

Only the checksum over the stored payload tells them apart. (Fluid declared gzip and never wrote it.)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from fluidio.recordio.format import compressors, zstd
from fluidio.recordio.format.checksum import Checksum, crc32, crc32c
from fluidio.recordio.format.compressors import Compressor

__all__ = ["DIALECTS", "ELASTICDL", "FLUID", "GO", "HEADER_SIZE", "MAGIC", "Dialect", "Header", "dialect_of"]

MAGIC = b"\x04\x03\x02\x01"
HEADER_SIZE = 20
_words = struct.Struct("<4s4I")


class Header(NamedTuple):
    """The fields of a chunk header, in one order for all dialects; `compressor` is the dialect's own number."""

    num_records: int
    checksum: int
    compressor: int
    size: int


@dataclass(frozen=True, eq=False)
class Dialect:
    """One family of writers: the order of the header, the checksum, the compressors."""

    name: str
    title: str
    checksum: Checksum
    compressors: dict[int, Compressor]
    records_last: bool = False

    def parse(self, header: bytes) -> Header:
        """Return the fields of 20 header bytes that start with the magic."""
        _, a, b, c, d = _words.unpack(header)
        return Header(d, a, b, c) if self.records_last else Header(a, b, c, d)

    def pack(self, header: Header) -> bytes:
        """Return the 20 bytes of a chunk header."""
        num_records, checksum, compressor, size = header
        if self.records_last:
            return _words.pack(MAGIC, checksum, compressor, size, num_records)
        return _words.pack(MAGIC, num_records, checksum, compressor, size)

    def plausible(self, header: Header) -> bool:
        """Return whether a header could be this dialect's, without checking the payload."""
        return header.compressor in self.compressors and header.num_records > 0 and header.size > 0

    def compressor_id(self, name: str) -> int:
        """Return the number for "none", "snappy", "gzip" or "zstd" (or the exact name of the form)."""
        wanted = name.lower()
        for number, compressor in self.compressors.items():
            if wanted == compressor.name or (wanted == "snappy" and compressor.name in _SNAPPY_FORMS):
                return number
        known = ", ".join(_plain_name(c) for c in self.compressors.values())
        raise ValueError(f"{self.title} has the compressors {known}, got {name!r}")

    def __repr__(self) -> str:
        return f"Dialect({self.name})"


_SNAPPY_FORMS = frozenset({"snappystream", "framed", "raw"})


def _plain_name(compressor: Compressor) -> str:
    return "snappy" if compressor.name in _SNAPPY_FORMS else compressor.name


def _ids(first: int, snappy: Compressor) -> dict[int, Compressor]:
    return {first: compressors.NONE, first + 1: snappy, first + 2: compressors.GZIP}


FLUID = Dialect("fluid", "Fluid's RecordIO", crc32, {**_ids(0, compressors.SNAPPYSTREAM), zstd.NUMBER: zstd.ZSTD})
GO = Dialect("go", "Go RecordIO (pip recordio)", crc32, _ids(0, compressors.FRAMED), records_last=True)
ELASTICDL = Dialect("elasticdl", "elasticdl's pyrecordio", crc32c, _ids(1, compressors.RAW))
DIALECTS: tuple[Dialect, ...] = (FLUID, GO, ELASTICDL)


def dialect_of(name: str | Dialect) -> Dialect:
    """Return a dialect by name."""
    if isinstance(name, Dialect):
        return name
    for dialect in DIALECTS:
        if dialect.name == name:
            return dialect
    raise ValueError(f"unknown RecordIO dialect {name!r}: choose one of {', '.join(d.name for d in DIALECTS)}")
