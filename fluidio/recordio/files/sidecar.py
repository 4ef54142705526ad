"""Keep the index of a file with very many chunks beside it, and believe it only as far as the data agrees.

The sidecar `.NAME.index` holds the size and time of the data file, the places of its chunks and a checksum of itself.
It is made anew when any of these or a sample of the headers does not fit, and ignored when it cannot be written.
"""

from __future__ import annotations

import contextlib
import os
import struct
from typing import Any

import numpy as np

from fluidio.errors import RecordIOError
from fluidio.recordio.files.index import ChunkIndex, build_index
from fluidio.recordio.files.part_files import create_part
from fluidio.recordio.files.source import LocalSource, is_url, opened
from fluidio.recordio.format.checksum import crc32
from fluidio.recordio.format.chunks import OnError
from fluidio.recordio.format.dialects import HEADER_SIZE, MAGIC, dialect_of

__all__ = ["open_index", "read_sidecar", "sidecar_path", "write_sidecar"]

_WORTH_IT = 4096  # chunks; hopping over fewer takes milliseconds
_MAGIC = b"fluidio-index-1\n"
_head = struct.Struct("<16sQQ16sQ")  # magic, size, mtime_ns, dialect, chunks


def open_index(
    what: Any, *, on_error: OnError = "raise", sidecar: bool | None = None, partial: bool = False
) -> ChunkIndex:
    """Return the index of a file, from its sidecar when that holds good, else by hopping.

    Args:
        on_error, partial: as in `build_index`.
        sidecar: True writes one, False neither reads nor writes, None (default) reads, and writes where it pays.
    """
    local = isinstance(what, (str, os.PathLike)) and not is_url(what)
    if not local or sidecar is False:
        return build_index(what, on_error=on_error, partial=partial)
    path = os.fspath(what)
    with opened(path) as source:
        index = read_sidecar(path, source)
        if index is not None:
            return index
        index = build_index(source, on_error=on_error, partial=partial)
        if sidecar or (sidecar is None and index.num_chunks >= _WORTH_IT):
            with contextlib.suppress(OSError):  # a read-only place: the index is only a cache
                write_sidecar(path, source, index)
    return index


def sidecar_path(path: str | os.PathLike[str]) -> str:
    """Return the sidecar's name; it begins with a dot, so that globs over the data do not find it."""
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, f".{name}.index")


def write_sidecar(path: str, source: LocalSource, index: ChunkIndex) -> None:
    """Write the index beside the file, whole or not at all; nothing for a damaged file."""
    if index.problem is not None or index.dialect is None:
        return
    stat = os.fstat(source.fileno())
    head = _head.pack(_MAGIC, stat.st_size, stat.st_mtime_ns, index.dialect.name.encode(), index.num_chunks)
    body = head + b"".join(a.astype("<i8").tobytes() for a in (index.offsets, index.counts, index.ends))
    target = sidecar_path(path)
    temporary, descriptor = create_part(target)
    try:
        with open(descriptor, "wb") as file:
            file.write(body + struct.pack("<I", crc32(body)))
        os.replace(temporary, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read_sidecar(path: str, source: LocalSource) -> ChunkIndex | None:
    """Return the stored index if there is one and it fits the file, else None."""
    try:
        with open(sidecar_path(path), "rb") as file:
            data = file.read()
    except OSError:
        return None
    try:
        return _parse(data, source)
    except (ValueError, struct.error, RecordIOError):
        return None


def _parse(data: bytes, source: LocalSource) -> ChunkIndex | None:
    magic, size, mtime, dialect, count = _head.unpack_from(data)
    stat = os.fstat(source.fileno())
    if magic != _MAGIC or (size, mtime) != (stat.st_size, stat.st_mtime_ns) or len(data) != _head.size + 24 * count + 4:
        return None
    if struct.unpack("<I", data[-4:])[0] != crc32(data[:-4]):
        return None
    offsets, counts, ends = np.frombuffer(data, "<i8", 3 * count, _head.size).astype(np.int64).reshape(3, count)
    index = ChunkIndex(offsets, counts, ends, dialect_of(dialect.rstrip(b"\0").decode("ascii")))
    for chunk in {0, count // 3, count // 2, 2 * count // 3, count - 1} if count else ():
        if not _agrees(index, chunk, source):
            return None
    return index if not count or int(ends[-1]) + 4 > size else None


def _agrees(index: ChunkIndex, chunk: int, source: LocalSource) -> bool:
    head = source.read(int(index.offsets[chunk]), HEADER_SIZE)
    if len(head) < HEADER_SIZE or head[:4] != MAGIC or index.dialect is None:
        return False
    header = index.dialect.parse(head)
    end = int(index.offsets[chunk]) + HEADER_SIZE + header.size
    return header.num_records == int(index.counts[chunk]) and end == int(index.ends[chunk])
