"""Salvage the good chunks of a damaged file, byte for byte."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from fluidio.errors import RecordIOError
from fluidio.recordio.files.part_files import writing_whole
from fluidio.recordio.files.source import open_source
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.dialects import HEADER_SIZE

__all__ = ["Salvage", "repair"]


@dataclass
class Salvage:
    """What `repair` kept and what it left out."""

    chunks: int = 0
    records: int = 0
    bytes_kept: int = 0
    bytes_lost: int = 0
    damage: list[RecordIOError] = field(default_factory=list)


def repair(damaged: object, target: str | os.PathLike[str]) -> Salvage:
    """Copy every good chunk of `damaged` to the new file `target`.

    A chunk is good if its checksum matches and its records fill it exactly; nothing is guessed. The target appears
    complete or not at all.

    Raises:
        FileExistsError: the target already exists; it may be the only copy of its data.
    """
    target = os.fspath(target)
    if os.path.exists(target):
        raise FileExistsError(f"{target} exists already: name a new file")
    source = open_source(damaged)
    out = Salvage()
    try:
        reader = ChunkReader(source, on_error="skip")
        with writing_whole(target) as file:
            for chunk in reader:
                file.write(source.read(chunk.offset, HEADER_SIZE + chunk.header.size))
                out.chunks += 1
                out.records += chunk.table.count
                out.bytes_kept += HEADER_SIZE + chunk.header.size
        out.damage = reader.damage
        out.bytes_lost = source.size - out.bytes_kept
    finally:
        if source is not damaged:
            source.close()
    return out
